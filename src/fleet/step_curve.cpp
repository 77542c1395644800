#include "fleet/step_curve.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::fleet {

namespace {
constexpr double least_seconds = 1;    // less than this was seen of a load: not yet to be believed
constexpr double most_seconds = 30;    // a load seen for longer weighs no more: it would drown the others
constexpr double least_spread = 1.25;  // highest over lowest load seen: nearer ones tell no slope
}  // namespace

void StepCurve::observe(double kv_tokens, double steps, Duration busy) {
  const double seconds = to_seconds(busy);
  const bool possible = std::isfinite(kv_tokens) && kv_tokens >= 0 && std::isfinite(steps) && steps > 0 && seconds > 0;
  if (!possible) return;  // one such value would poison its group for good
  latest_s_ = seconds / steps;
  const double quarter_octaves = 4 * std::log2(std::max(1.0, kv_tokens));
  Group& group = groups_[std::min(groups - 1, static_cast<std::size_t>(quarter_octaves))];
  const double keep = std::exp2(-seconds / half_life_s_);
  group.seconds = group.seconds * keep + seconds;
  group.steps = group.steps * keep + steps;
  group.load_seconds = group.load_seconds * keep + kv_tokens * seconds;
  redraw();
}

/// Least squares through the groups' means.
void StepCurve::redraw() {
  double weight = 0;
  double load = 0;
  double time = 0;
  double lowest = 0;
  double highest = 0;
  for (const Group& group : groups_) {
    if (group.seconds < least_seconds) continue;
    const double w = std::min(group.seconds, most_seconds);
    highest = group.load_seconds / group.seconds;
    if (weight == 0) lowest = highest;
    weight += w;
    load += w * highest;
    time += w * group.seconds / group.steps;
  }
  if (weight == 0 || highest < least_spread * std::max(1.0, lowest)) return;
  load /= weight;
  time /= weight;
  double spread = 0;
  double together = 0;
  for (const Group& group : groups_) {
    if (group.seconds < least_seconds) continue;
    const double w = std::min(group.seconds, most_seconds);
    const double from_mean = group.load_seconds / group.seconds - load;
    spread += w * from_mean * from_mean;
    together += w * from_mean * (group.seconds / group.steps - time);
  }
  // Neither part of a step's time can be below nothing.
  const double slope = std::clamp(together / spread, 0.0, time / load);
  line_ = {time - slope * load, slope};
}

}  // namespace evenkeel::fleet
