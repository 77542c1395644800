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
constexpr double least_learned_s = 1;   // less is not enough to be contradicted, or to contradict
constexpr double least_expected = 16;   // units of work a request: fewer are too coarse to judge a stretch by
constexpr double contradicts = 2;       // as a factor, either way
constexpr int stretches = 3;            // that contradict in a row until what was learned is dropped
constexpr double reach = 1.5;           // how far above the highest level seen the rate is taken to go on growing
}  // namespace

RateCurve RateCurve::of(std::span<const RatePoint> points) {
  RateCurve curve;
  for (const RatePoint& point : points) curve.observe(point.level, point.rate, std::chrono::seconds(1));
  return curve;
}

RateCurve::Sums& RateCurve::Sums::operator+=(const Sums& more) {
  work += more.work;
  seconds += more.seconds;
  running_seconds += more.running_seconds;
  return *this;
}

void RateCurve::observe(double running, double work, Duration busy, bool as_it_was_done) {
  const double seconds = to_seconds(busy);
  const bool possible = std::isfinite(running) && running > 0 && std::isfinite(work) && work >= 0 && seconds > 0;
  if (!possible) return;  // one such value would poison its group for good
  latest_ = group_of(running, groups);
  const Sums seen{work, seconds, running * seconds};
  if (as_it_was_done) watch(latest_, seen);
  Sums& group = groups_[latest_];
  group = group.scaled(std::exp2(-seconds / half_life_s_));
  group += seen;
  if (watches_[latest_].slower >= stretches || watches_[latest_].faster >= stretches) relearn(latest_);
  redraw();
}

void RateCurve::watch(std::size_t group, const Sums& seen) {
  Watch& of = watches_[group];
  if (of.stretch.seconds == 0 && of.slower + of.faster == 0) {
    if (groups_[group].seconds < least_learned_s || groups_[group].work <= 0) return;
    of.learned = groups_[group].rate();
  }
  of.stretch += seen;
  const double expected = of.learned * of.stretch.seconds;
  if (of.stretch.seconds < 1 || expected * of.stretch.seconds < least_expected * of.stretch.running_seconds) return;
  // Nothing done at all is a worker that hangs: how fast it is if it goes on, that does not tell.
  const bool slower = of.stretch.work > 0 && of.stretch.work * contradicts < expected;
  const bool faster = of.stretch.work > contradicts * expected;
  if (!(slower && of.faster == 0) && !(faster && of.slower == 0)) {
    of = {};
    return;
  }
  // The first of them may have begun before the worker changed.
  if (of.slower + of.faster > 0) of.against += of.stretch;
  ++(slower ? of.slower : of.faster);
  of.stretch = {};
}

void RateCurve::relearn(std::size_t group) {
  const Watch of = watches_[group];
  const double change = of.against.rate() / of.learned;
  for (Sums& other : groups_) {
    if (other.seconds <= 0) continue;
    other = other.scaled(std::min(1.0, least_learned_s / other.seconds));
    other.work *= change;
  }
  groups_[group] = of.against;
  watches_ = {};
}

std::optional<RatePoint> RateCurve::latest() const {
  const Sums& of = groups_[latest_];
  if (of.seconds < least_learned_s) return std::nullopt;
  return RatePoint{of.running_seconds / of.seconds, of.rate()};
}

void RateCurve::redraw() {
  known_ = 0;
  for (const Sums& of : groups_) {
    if (of.seconds < least_seconds || of.work <= 0) continue;
    points_[known_++] = {of.running_seconds / of.seconds, of.rate()};
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
