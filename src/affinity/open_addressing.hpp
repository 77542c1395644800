#pragma once

#include <cstddef>
#include <cstdint>

namespace evenkeel::affinity {

// The two things that tables with linear probing share. Keys are hashes already, so their upper bits choose the slot
// (a product instead of a remainder; the number of slots may be any).

/// Slots for so many entries: three quarters full at most, and never without an empty one.
[[nodiscard]] constexpr std::size_t slots_for(std::size_t entries) { return entries + entries / 3 + 2; }

[[nodiscard]] inline std::size_t home_of(std::uint64_t hash, std::size_t slots) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((static_cast<Wide>(hash) * slots) >> 64U);
}

/// Empties `slot` and moves up what would no longer be found behind the gap. `slots` in all; empty(i) and home(i) of a
/// slot in use; move(to, from) copies; clear(i) empties.
template <class Empty, class Home, class Move, class Clear>
void close_gap(std::size_t slot, std::size_t slots, Empty empty, Home home, Move move, Clear clear) {
  std::size_t gap = slot;
  for (std::size_t i = slot + 1 == slots ? 0 : slot + 1; !empty(i); i = i + 1 == slots ? 0 : i + 1) {
    const std::size_t from = home(i);
    // Stays if its home lies, going round, behind the gap and not behind itself.
    const bool stays = gap < i ? (gap < from && from <= i) : (gap < from || from <= i);
    if (stays) continue;
    move(gap, i);
    gap = i;
  }
  clear(gap);
}

}  // namespace evenkeel::affinity
