#include "fleet/rate_curve.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::fleet {

namespace {
/// 1, 2, 3, 4, 6, 8, 12, 16, 24, ...: two groups an octave from 2 on.
std::size_t group_of(double running, std::size_t groups) {
  if (running < 1.5) return 0;
  const double octaves = 2 * std::log2(running / 2);
  return std::min(groups - 1, static_cast<std::size_t>(std::max(0.0, std::round(octaves))) + 1);
}
constexpr double least_seconds = 0.02;  // less than this was seen of a level: not yet to be believed
constexpr double reach = 1.5;           // how far above the highest level seen the rate is taken to go on growing
}  // namespace

RateCurve RateCurve::of(std::span<const RatePoint> points) {
  RateCurve curve;
  for (const RatePoint& point : points) curve.observe(point.level, point.rate, std::chrono::seconds(1));
  return curve;
}

void RateCurve::observe(double running, double work, Duration busy) {
  const double seconds = to_seconds(busy);
  const bool possible = std::isfinite(running) && running > 0 && std::isfinite(work) && work >= 0 && seconds > 0;
  if (!possible) return;  // one such value would poison its group for good
  Group& group = groups_[group_of(running, groups)];
  const double keep = std::exp2(-seconds / half_life_s_);
  group.work = group.work * keep + work;
  group.seconds = group.seconds * keep + seconds;
  group.running_seconds = group.running_seconds * keep + running * seconds;
  redraw();
}

void RateCurve::redraw() {
  known_ = 0;
  for (const Group& of : groups_) {
    if (of.seconds < least_seconds || of.work <= 0) continue;
    points_[known_++] = {of.running_seconds / of.seconds, of.work / of.seconds};
  }
}

bool RateCurve::known() const { return known_ > 0; }

double RateCurve::at(double running) const {
  if (known_ == 0) return 0;
  RatePoint below;
  for (const RatePoint& point : points()) {
    if (point.level >= running) {
      const double share = point.level > below.level ? (running - below.level) / (point.level - below.level) : 1;
      return below.rate + share * (point.rate - below.rate);
    }
    below = point;
  }
  return below.rate * std::min(running / below.level, reach);
}

}  // namespace evenkeel::fleet
