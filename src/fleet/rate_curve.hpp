#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/clock.hpp"

namespace evenkeel::fleet {

/// Work per second with so many requests running.
struct RatePoint {
  double level = 0;
  double rate = 0;
};

/// What a worker was seen to do: work per second (output tokens) at each level of concurrency, learned online. Levels
/// are grouped 1, 2, 3, 4, 6, 8, 12, 16, ... 1024; each group keeps sums of work and busy time that fade with a
/// half-life of their own busy time, so an idle worker forgets nothing.
class RateCurve {
 public:
  explicit RateCurve(Duration half_life = std::chrono::seconds(30)) : half_life_s_(to_seconds(half_life)) {}
  /// As if each point had been seen for a second. Points that cannot be are dropped.
  [[nodiscard]] static RateCurve of(std::span<const RatePoint> points);

  /// `work` was done in `busy` while `running` (> 0) requests ran, on average. Values that cannot be are dropped.
  void observe(double running, double work, Duration busy);

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
  struct Group {
    double work = 0;
    double seconds = 0;
    double running_seconds = 0;
  };
  void redraw();

  std::array<Group, groups> groups_{};
  std::array<RatePoint, groups> points_{};  ///< of the groups that are to be believed, by level: what at() reads
  std::size_t known_ = 0;
  double half_life_s_;
};

}  // namespace evenkeel::fleet
