#include "calibrate/ramp.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace evenkeel::calibrate {

namespace {
/// A level that does this much worse than one below it is no noise: something goes wrong in between, and the best level
/// may lie there.
constexpr double dip = 0.99;
}  // namespace

Ramp::Ramp(std::vector<std::int64_t> schedule, double ttft_bound_s, double min_relative_gain)
    : schedule_(std::move(schedule)), ttft_bound_s_(ttft_bound_s), min_relative_gain_(min_relative_gain) {}

std::optional<std::int64_t> Ramp::next() const {
  switch (part_) {
    case Part::climb: return schedule_.at(samples_.size());
    case Part::above: return std::midpoint(low_.level, high_.level);
    case Part::below: return std::midpoint(below_, low_.level);
    case Part::done: return std::nullopt;
  }
  return std::nullopt;
}

Knee Ramp::knee() const { return {low_.level, reason_}; }

void Ramp::measured(const LevelSample& sample) {
  samples_.insert(std::ranges::upper_bound(samples_, sample.level, {}, &LevelSample::level), sample);
  switch (part_) {
    case Part::climb: return climbed();
    case Part::above: return looked_above(sample);
    case Part::below: return looked_below(sample);
    case Part::done: return;
  }
}

void Ramp::climbed() {
  const Knee found = find_knee(samples_, ttft_bound_s_, min_relative_gain_);
  const LevelSample& last = samples_.back();
  reason_ = found.reason;
  if (found.level == last.level) {
    below_ = low_.level;
    low_ = last;
    if (samples_.size() == schedule_.size()) part_ = Part::done;
    return;
  }
  high_ = last;
  choose_part();
}

void Ramp::looked_above(const LevelSample& sample) {
  if (over(sample)) {
    high_ = sample;
    reason_ = KneeReason::ttft_bound;
  } else if (gains(low_, sample)) {
    below_ = low_.level;
    low_ = sample;
  } else {
    high_ = sample;
    reason_ = KneeReason::plateau;
  }
  choose_part();
}

void Ramp::looked_below(const LevelSample& sample) {
  if (over(sample) || gains(sample, low_)) {
    below_ = sample.level;
  } else {
    low_ = sample;
    reason_ = KneeReason::plateau;
  }
  choose_part();
}

void Ramp::choose_part() {
  const bool above = part_ != Part::below && worth_looking_above();
  const bool below = low_.level - below_ > 1;
  part_ = low_.level == 0 ? Part::done : above ? Part::above : below ? Part::below : Part::done;
}

bool Ramp::gains(const LevelSample& from, const LevelSample& to) const {
  if (from.tokens_per_s <= 0) return true;
  const double doublings = std::log2(static_cast<double>(to.level) / static_cast<double>(from.level));
  return to.tokens_per_s / from.tokens_per_s >= std::pow(1 + min_relative_gain_, doublings);
}

bool Ramp::worth_looking_above() const {
  if (high_.level - low_.level <= 1) return false;
  return over(high_) || high_.tokens_per_s < dip * low_.tokens_per_s;
}

}  // namespace evenkeel::calibrate
