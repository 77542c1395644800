#pragma once

#include <deque>
#include <set>

#include "base/clock.hpp"

namespace evenkeel::calibrate {

/// Tells requests of others from our own in what an engine's gauges show, by the interval rule:
///
///     foreign = max(0, shown - every request of ours that was open at any time
///                              from the asking, less `slack`, to the answer)
///
/// It would rather see too few: a gauge that lags must not end a measurement. Calls come in the order of their times.
class ForeignLoad {
 public:
  explicit ForeignLoad(Duration slack = std::chrono::milliseconds(300)) : slack_(slack) {}

  void began(Time now) { open_.insert(now); }
  /// The one that began then.
  void ended(Time began, Time now);
  /// `shown`: requests running and waiting.
  [[nodiscard]] double foreign(double shown, Time asked) const;

 private:
  Duration slack_;
  std::multiset<Time> open_;
  std::deque<Time> ended_;  ///< of the last minute: no answer takes longer
};

}  // namespace evenkeel::calibrate
