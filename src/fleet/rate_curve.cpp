#include "fleet/rate_curve.hpp"

#include <algorithm>
#include <cmath>
#include <span>

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
  Point below;
  for (const Point& point : std::span(points_).first(known_)) {
    if (point.level >= running) {
      const double share = point.level > below.level ? (running - below.level) / (point.level - below.level) : 1;
      return below.rate + share * (point.rate - below.rate);
    }
    below = point;
  }
  return below.rate * std::min(running / below.level, reach);
}

}  // namespace evenkeel::fleet
