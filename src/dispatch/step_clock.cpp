#include "dispatch/step_clock.hpp"

#include <algorithm>

namespace evenkeel::dispatch {

namespace {
constexpr double least_seconds = 1;  // a window of fewer steps or less time would be one of chance
constexpr double least_steps = 10;
}  // namespace

void StepClock::note(Time now, const GroupLoad& load) {
  const double seconds = noted_ == Time::min() ? 0 : to_seconds(now - noted_);
  const double decoding = (last_.decoding + load.decoding) / 2;
  if (seconds > 0 && decoding > 0) {
    const double made = std::max(0.0, load.generated - last_.generated) / decoding;
    steps_ += made;
    stepped_ += made;
    seconds_ += seconds;
    load_seconds_ += seconds * (last_.largest + load.largest) / 2;
  }
  noted_ = now;
  last_ = load;
  if (seconds_ < least_seconds || stepped_ < least_steps) return;
  curve_.observe(load_seconds_ / seconds_, stepped_, from_seconds(seconds_));
  seconds_ = stepped_ = load_seconds_ = 0;
}

}  // namespace evenkeel::dispatch
