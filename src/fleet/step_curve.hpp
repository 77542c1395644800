#pragma once

#include <array>
#include <cstddef>

#include "base/clock.hpp"
#include "fleet/view.hpp"

namespace evenkeel::fleet {

/// How long a decode step was seen to last at each KV load of whoever sets the pace, learned online, and the line
/// fixed + token * load through it (arXiv 2601.17855, the local time of the barrier model). Loads are grouped four an
/// octave; each group keeps sums that fade with a half-life of their own busy time, so that what was seen while the
/// fleet filled is not forgotten while it is full: a full fleet shows one load only, and one load has no slope.
///
/// Prefill that shares the steps counts as part of them.
class StepCurve {
 public:
  explicit StepCurve(Duration half_life = std::chrono::minutes(5)) : half_life_s_(to_seconds(half_life)) {}

  /// `steps` (> 0) lasted `busy` in all while the largest load was `kv_tokens`. Values that cannot be are dropped.
  void observe(double kv_tokens, double steps, Duration busy);

  /// The line, in seconds and seconds a token; not known() until loads a quarter apart were each seen for a while.
  [[nodiscard]] StepTime line() const { return line_; }
  /// Mean length of the steps last observed, in seconds; 0 if none.
  [[nodiscard]] double latest_s() const { return latest_s_; }

 private:
  static constexpr std::size_t groups = 128;  // to 2^32 tokens
  struct Group {
    double seconds = 0;
    double steps = 0;
    double load_seconds = 0;
  };
  void redraw();

  std::array<Group, groups> groups_{};
  StepTime line_;
  double latest_s_ = 0;
  double half_life_s_;
};

}  // namespace evenkeel::fleet
