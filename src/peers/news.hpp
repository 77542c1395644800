#pragma once

#include <cstdint>
#include <tuple>

namespace evenkeel::peers {

/// What a peer of our kind says of its load, counted by itself at one instant. It comes with every answer it gives,
/// with the answer to a probe, and by itself when a slot is released.
struct News {
  std::uint64_t epoch = 0;     ///< larger at each start of the peer, which counts from nothing then
  std::uint64_t sequence = 0;  ///< larger with each piece of news: what was overtaken on its way is known by it
  std::int64_t active = 0;     ///< requests of everybody there
  std::int64_t yours = 0;      ///< of these, from the router that is told

  [[nodiscard]] bool later_than(const News& other) const {
    return std::tie(epoch, sequence) > std::tie(other.epoch, other.sequence);
  }
  [[nodiscard]] bool possible() const { return yours >= 0 && active >= yours; }
};

}  // namespace evenkeel::peers
