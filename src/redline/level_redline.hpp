#pragma once

#include "base/clock.hpp"

namespace evenkeel::redline {

/// The physical redline of one resource at one worker: smooth, then act. Headroom is smoothed once for each fresh
/// sample; the line is crossed by level, or by slope if the headroom would fall to it before the next sample comes:
///
///   h_t = eta H + (1 - eta) h_{t-1},   s_t = (h_t - h_{t-1}) / (stamp_t - stamp_{t-1})
///   crossed  iff  h_t <= line  or  h_t + s_t * (time to the next sample) <= line
///
/// Stamps are those of the samples, never a nominal period: a late sample is not a steep fall. The first sample sets
/// the level. At eta 0.25 a step is followed to 1/e in 3.5 samples.
class LevelRedline {
 public:
  static constexpr double default_eta = 0.25;

  /// eta in (0, 1].
  explicit LevelRedline(double eta = default_eta) : eta_(eta) {}

  /// A sample that is no newer than the last is none. Whether it was taken.
  bool sample(Time stamp, double headroom);
  /// `line` in the samples' unit; `ahead` until the next sample is expected.
  [[nodiscard]] bool crossed(double line, Duration ahead) const;
  /// By what is expected at the next sample: the lower of level and level with slope.
  [[nodiscard]] double expected(Duration ahead) const;

  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] double level() const { return level_; }
  [[nodiscard]] double slope_per_s() const { return slope_per_s_; }
  [[nodiscard]] Time stamp() const { return stamp_; }
  void forget() { *this = LevelRedline(eta_); }

 private:
  double eta_;
  double level_ = 0;
  double slope_per_s_ = 0;
  Time stamp_{};
  bool known_ = false;
};

}  // namespace evenkeel::redline
