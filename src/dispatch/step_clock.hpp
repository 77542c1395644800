#pragma once

#include "base/clock.hpp"
#include "fleet/step_curve.hpp"

namespace evenkeel::dispatch {

/// What the workers of a sync group hold together at one instant.
struct GroupLoad {
  double generated = 0;  ///< output tokens, ever
  double decoding = 0;   ///< requests that now gain a token a step
  double largest = 0;    ///< KV tokens of the fullest worker
};

/// Counts the steps of a sync group, and learns how long they last, from the tokens that come: in each step every
/// decoding request gains one. (Where engines draft, a step is here what yields one token.) Over a long time the count
/// is exact; within one step it is not. Guarded by the dispatcher's lock.
class StepClock {
 public:
  /// Call often: every 10 to 100 ms.
  void note(Time now, const GroupLoad& load);

  [[nodiscard]] double steps() const { return steps_; }
  /// Of the latest second or so; 0 while nothing was learned.
  [[nodiscard]] double step_s() const { return curve_.latest_s(); }
  /// By the load of the fullest worker.
  [[nodiscard]] fleet::StepTime step_time() const { return curve_.line(); }

 private:
  fleet::StepCurve curve_;
  Time noted_ = Time::min();
  GroupLoad last_;
  double steps_ = 0;
  // Since the curve was last told.
  double seconds_ = 0;
  double stepped_ = 0;
  double load_seconds_ = 0;
};

}  // namespace evenkeel::dispatch
