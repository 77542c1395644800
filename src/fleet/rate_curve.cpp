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

void RateCurve::observe(double running, double work, Duration busy) {
  const double seconds = to_seconds(busy);
  const bool possible = std::isfinite(running) && running > 0 && std::isfinite(work) && work >= 0 && seconds > 0;
  if (!possible) return;  // one such value would poison its group for good
  Group& group = groups_[group_of(running, groups)];
  const double keep = std::exp2(-seconds / half_life_s_);
  group.work = group.work * keep + work;
  group.seconds = group.seconds * keep + seconds;
  group.running_seconds = group.running_seconds * keep + running * seconds;
}

bool RateCurve::known() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.seconds >= least_seconds && g.work > 0; });
}

double RateCurve::at(double running) const {
  double below_level = 0, below_rate = 0;
  for (const Group& group : groups_) {
    if (group.seconds < least_seconds || group.work <= 0) continue;
    const double level = group.running_seconds / group.seconds;
    const double rate = group.work / group.seconds;
    if (level >= running) {
      const double share = level > below_level ? (running - below_level) / (level - below_level) : 1;
      return below_rate + share * (rate - below_rate);
    }
    below_level = level;
    below_rate = rate;
  }
  return below_level > 0 ? below_rate * std::min(running / below_level, reach) : 0;
}

}  // namespace evenkeel::fleet
