#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "peers/fingerprint.hpp"

namespace evenkeel::peers {

/// How many requests a peer serves at once, as far as it is to be believed.
struct Capacity {
  std::optional<std::int64_t> slots;  ///< nothing: not calibrated
  std::string note;                   ///< if what it said was refused, cut or put away
};

inline constexpr std::int64_t default_capacity_clamp = 4096;

/// A peer says its capacity itself, and placement divides by it: what is no positive number is refused, and what is
/// over `clamp` (>= 1) is cut to it. `said` is the value as it stands in the peer's answer; nothing: it says none.
/// Whole slots count: 2.7 is 2, and less than 1 is none.
[[nodiscard]] Capacity read_capacity(std::optional<std::string_view> said, std::int64_t clamp = default_capacity_clamp);

/// Ties a peer's capacity to what it was measured with: once something else is served there, the number is put away
/// until a later measurement comes. It comes back neither with the old model nor by being said again.
class CapacityPin {
 public:
  /// What counts now. `measured_at` is the peer's own stamp of the measurement, larger is later; nothing: it gives
  /// none, and then only another number is a new measurement.
  [[nodiscard]] Capacity admit(Capacity said, std::optional<std::int64_t> measured_at, const Fingerprint& now);

 private:
  struct Pinned {
    std::int64_t slots = 0;
    std::optional<std::int64_t> measured_at;
    Fingerprint with;
    bool put_away = false;
  };
  [[nodiscard]] bool measured_anew(const Capacity& said, std::optional<std::int64_t> measured_at) const;

  std::optional<Pinned> pinned_;
};

}  // namespace evenkeel::peers
