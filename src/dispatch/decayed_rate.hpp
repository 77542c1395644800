#pragma once

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"

namespace evenkeel::dispatch {

/// Events per second, exponentially faded over a time constant and corrected for the time before the first event.
class DecayedRate {
 public:
  explicit DecayedRate(Duration time_constant = std::chrono::seconds(10)) : tau_s_(to_seconds(time_constant)) {}

  void count(Time now) {
    if (events_ == 0) begun_ = now;
    fade(now);
    mass_ += 1;
    ++events_;
  }

  /// 0 until `enough` events were counted: a rate from one event is a guess.
  [[nodiscard]] double per_second(Time now, long enough = 4) const {
    if (events_ < enough) return 0;
    const double age = std::max(to_seconds(now - begun_), 0.1);
    const double faded = mass_ * std::exp(-to_seconds(now - last_) / tau_s_);
    return faded / (tau_s_ * (1 - std::exp(-age / tau_s_)));
  }

 private:
  void fade(Time now) {
    mass_ *= std::exp(-to_seconds(now - last_) / tau_s_);
    last_ = now;
  }

  double tau_s_;
  double mass_ = 0;
  long events_ = 0;
  Time begun_{};
  Time last_{};
};

}  // namespace evenkeel::dispatch
