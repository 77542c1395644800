#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace evenkeel::calibrate {

/// What an engine did with `level` requests in it at all times.
struct LevelSample {
  std::int64_t level = 0;
  double tokens_per_s = 0;    ///< output tokens, of all requests
  double ttft_s = 0;          ///< median time to the first token
  std::int64_t requests = 0;  ///< that ended while it was measured
  double tokens = 0;          ///< output tokens while it was measured
  double window_s = 0;        ///< for how long it was
};

/// Why the knee lies where it does.
enum class KneeReason : std::uint8_t {
  empty,        ///< nothing was measured
  ttft_bound,   ///< the next level takes longer to a first token than allowed
  plateau,      ///< the next level gains too little
  top_of_ramp,  ///< none: the highest level measured still gained
};
[[nodiscard]] std::string_view to_string(KneeReason reason);

struct Knee {
  std::int64_t level = 0;
  KneeReason reason = KneeReason::empty;

  /// Whether it says how many requests the engine should have: not if nothing was within the bound, nor if what was
  /// measured ends below the knee.
  [[nodiscard]] bool usable() const {
    return level > 0 && (reason == KneeReason::plateau || reason == KneeReason::ttft_bound);
  }
  friend bool operator==(const Knee&, const Knee&) = default;
};

/// The last level, in ascending order, that was worth going to. A level over the bound ends it, and so does one whose
/// throughput is less than `min_relative_gain` over that of the level before; a gain of just that much is enough, a
/// first token just at the bound is in time, and over a throughput of 0 any level gains. If the first level is over the
/// bound there is none: 0. A time that is no number is over the bound. O(n log n).
[[nodiscard]] Knee find_knee(std::span<const LevelSample> samples, double ttft_bound_s, double min_relative_gain);

}  // namespace evenkeel::calibrate
