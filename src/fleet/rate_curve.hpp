#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "base/clock.hpp"

namespace evenkeel::fleet {

/// Work per second with so many requests running.
struct RatePoint {
  double level = 0;
  double rate = 0;
  friend bool operator==(const RatePoint&, const RatePoint&) = default;
};

/// What a worker was seen to do: work per second (output tokens) at each level of concurrency, learned online. Levels
/// are grouped 1, 2, 3, 4, 6, 8, 12, 16, ... 1024; each group keeps sums of work and busy time that fade with a
/// half-life of their own busy time, so an idle worker forgets nothing.
///
/// A worker that has changed is not averaged with what it was: once three stretches of a second in a row, all at one
/// level, each did less than half of what was learned there, or each more than twice as much, only the last two count.
/// What was learned of other levels is taken to have changed as much, and gives way to what is seen there next.
class RateCurve {
 public:
  explicit RateCurve(Duration half_life = std::chrono::seconds(30)) : half_life_s_(to_seconds(half_life)) {}
  /// As if each point had been seen for a second. Points that cannot be are dropped.
  [[nodiscard]] static RateCurve of(std::span<const RatePoint> points);

  /// `work` was done in `busy` while `running` (> 0) requests ran, on average. Values that cannot be are dropped.
  /// `as_it_was_done`: the work was told while it was done. What is told when a request ends says nothing of a second.
  void observe(double running, double work, Duration busy, bool as_it_was_done = false);
  /// What was seen at the level that was observed last; nothing while that is less than a second.
  [[nodiscard]] std::optional<RatePoint> latest() const;

  /// Work per second with `running` requests, or 0 if nothing was ever observed. Between observed levels linear,
  /// below the lowest in proportion to `running`. Above the highest it goes on in proportion up to 1.5 times that
  /// level, and is flat from there: a batch grows nearly for free until it saturates, and a worker judged by what
  /// it did with one request would never be given two. What is guessed too high is seen, and so corrected, at once.
  [[nodiscard]] double at(double running) const;
  [[nodiscard]] bool known() const;
  /// What is between them at() draws: by level, at most 20. Valid until the next observation.
  [[nodiscard]] std::span<const RatePoint> points() const { return std::span(points_).first(known_); }

 private:
  static constexpr std::size_t groups = 20;
  struct Sums {
    double work = 0;
    double seconds = 0;
    double running_seconds = 0;
    [[nodiscard]] double rate() const { return work / seconds; }
    [[nodiscard]] Sums scaled(double by) const { return {work * by, seconds * by, running_seconds * by}; }
    Sums& operator+=(const Sums& more);
  };
  /// Evidence against what was learned at one level.
  struct Watch {
    double learned = 0;  ///< rate before
    Sums stretch;        ///< that is not yet judged
    Sums against;        ///< stretches that contradict one after the other, but for the first
    int slower = 0;      ///< how many of them, with the first
    int faster = 0;
  };
  void watch(std::size_t group, const Sums& seen);
  void relearn(std::size_t group);
  void redraw();

  std::array<Sums, groups> groups_{};
  std::array<Watch, groups> watches_{};
  std::size_t latest_ = 0;
  std::array<RatePoint, groups> points_{};  ///< of the groups that are to be believed, by level: what at() reads
  std::size_t known_ = 0;
  double half_life_s_;
};

}  // namespace evenkeel::fleet
