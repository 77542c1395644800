#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "calibrate/knee.hpp"

namespace evenkeel::calibrate {

/// Says which level to measure next, until the knee is known to one request. It climbs the schedule until find_knee()
/// ends it. The knee then lies between the last levels around it, and halves are looked at:
///
/// - above the last level that gained, where the next one was over the bound or did worse than it;
/// - below it, down to the level before: what a doubling gained may have been gained half way.
///
/// Between two levels of the schedule a step must gain in proportion: min_relative_gain for a doubling, so from a to b
/// (1 + min_relative_gain)^log2(b / a) - 1. At most 2 log2 of the widest step more levels are measured.
class Ramp {
 public:
  /// `schedule` ascending, levels >= 1; both numbers positive and finite.
  Ramp(std::vector<std::int64_t> schedule, double ttft_bound_s, double min_relative_gain);

  /// Nothing: the knee is known, or the schedule is at its end.
  [[nodiscard]] std::optional<std::int64_t> next() const;
  /// `sample` is of the level that next() said.
  void measured(const LevelSample& sample);

  /// As far as it is known.
  [[nodiscard]] Knee knee() const;
  /// By level.
  [[nodiscard]] std::span<const LevelSample> samples() const { return samples_; }

 private:
  enum class Part : std::uint8_t { climb, above, below, done };

  [[nodiscard]] bool over(const LevelSample& sample) const { return !(sample.ttft_s <= ttft_bound_s_); }
  /// Whether going from `from` to `to` was worth it, for steps of less than a doubling, too.
  [[nodiscard]] bool gains(const LevelSample& from, const LevelSample& to) const;
  [[nodiscard]] bool worth_looking_above() const;
  void climbed();
  void looked_above(const LevelSample& sample);
  void looked_below(const LevelSample& sample);
  void choose_part();

  std::vector<std::int64_t> schedule_;
  double ttft_bound_s_;
  double min_relative_gain_;
  std::vector<LevelSample> samples_;
  Part part_ = Part::climb;
  std::int64_t below_ = 0;  ///< the highest level known to lie below the knee
  LevelSample low_;         ///< the knee, as far as it is known
  LevelSample high_;        ///< the lowest level known to lie above it
  KneeReason reason_ = KneeReason::empty;
};

}  // namespace evenkeel::calibrate
