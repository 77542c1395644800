#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "base/clock.hpp"

namespace evenkeel::fleet {

/// Tells requests of others from our own in what a server's gauges show, by the interval rule:
///
///     foreign = max(0, shown - every request of ours that was open at any time
///                              from the asking, less `slack`, to the answer)
///
/// It would rather see too few: that costs one short wait there, while too many would leave a server idle. Calls come
/// in the order of their times.
class ForeignLoad {
 public:
  /// `slack`: at least how far the gauges lag. `longest`: no answer takes longer.
  ForeignLoad(Duration slack, Duration longest) : slack_(slack), longest_(longest) {}

  void began(Time now) { open_.insert(now); }
  /// The one that began then.
  void ended(Time began, Time now);
  /// `shown`: requests running and waiting.
  [[nodiscard]] double foreign(double shown, Time asked) const;

  [[nodiscard]] std::int64_t open() const { return static_cast<std::int64_t>(open_.size()); }
  /// Of those that are open, how many began no later than `when`.
  [[nodiscard]] std::int64_t open_since(Time when) const;

 private:
  Duration slack_;
  Duration longest_;
  std::multiset<Time> open_;  ///< by when they began
  std::deque<Time> ended_;    ///< when others ended, as far back as an answer can reach
};

}  // namespace evenkeel::fleet
