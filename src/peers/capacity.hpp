#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "peers/fingerprint.hpp"
#include "peers/pin.hpp"

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

/// What a peer says of its capacity, while it was measured with what is served there.
class CapacityPin {
 public:
  /// What counts now. `measured_at` as of Pin::admit().
  [[nodiscard]] Capacity admit(Capacity said, std::optional<std::int64_t> measured_at, const Fingerprint& now);

 private:
  Pin<std::int64_t> pin_;
};

}  // namespace evenkeel::peers
