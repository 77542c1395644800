#include "forecast/survival_curve.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::forecast {

namespace {

constexpr double heaviest = 1e12;
/// Of all weight. What reaches a bucket with less is lost in the rounding of the sums (30 half-lives ago).
constexpr double least_share = 1e-9;

}  // namespace

SurvivalCurve::SurvivalCurve(double half_life)
    : growth_(std::exp2(1 / half_life)),
      ends_(LengthGrid::buckets, 0.0),
      reach_(LengthGrid::buckets, 0.0),
      partial_(LengthGrid::buckets, 0.0),
      nodes_(LengthGrid::buckets + 1) {}

void SurvivalCurve::expose(std::int64_t from, std::int64_t to) {
  const std::size_t first = LengthGrid::index(from);
  const std::size_t last = LengthGrid::index(to - 1);
  reach_[last] += weight_;
  if (first > 0) reach_[first - 1] -= weight_;
  const auto share = [](std::int64_t tokens, std::size_t bucket) {
    return static_cast<double>(tokens) / static_cast<double>(LengthGrid::width(bucket));
  };
  if (to > LengthGrid::exact) {
    partial_[first] -= weight_ * share(from - LengthGrid::lower(first), first);
    partial_[last] -= weight_ * share(LengthGrid::lower(last + 1) - to, last);
  }
  used_ = std::max(used_, last + 1);
}

void SurvivalCurve::lived(std::int64_t from, std::int64_t to) {
  to = std::min(to, LengthGrid::longest);
  if (from < to) expose(from, to);
}

void SurvivalCurve::ended(std::int64_t length) {
  if (length <= LengthGrid::longest) {
    const std::size_t bucket = LengthGrid::index(length - 1);
    ends_[bucket] += weight_;
    // It would have been seen to the end of its bucket: with that S is exact at nodes when no life is broken off.
    const std::int64_t upper = LengthGrid::lower(bucket + 1);
    if (length < upper) expose(length, upper);
  }
  weight_ *= growth_;
  if (weight_ > heaviest) rescale();
}

void SurvivalCurve::rescale() {
  for (auto* const counts : {&ends_, &reach_, &partial_}) {
    for (double& count : *counts) count /= weight_;
  }
  weight_ = 1;
}

void SurvivalCurve::rebuild() {
  // Downwards the numbers that reach a bucket, kept in `tail` for a moment: from the top they only add up.
  double reach = 0;
  double most = 0;
  for (std::size_t i = used_; i-- > 0;) {
    reach += reach_[i];
    nodes_[i].tail = reach + partial_[i];
    most = std::max(most, reach);
  }
  std::size_t count = used_;
  while (count > 0 && nodes_[count - 1].tail <= least_share * most) --count;
  double survival = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const double seen = nodes_[i].tail;
    nodes_[i].survival = survival;
    if (ends_[i] > 0 && seen > least_share * most) survival *= std::max(0.0, 1 - ends_[i] / seen);
    if (survival < 1e-12) survival = 0;  // all have ended; the rest is rounding
  }
  nodes_[count] = {survival, 0};
  for (std::size_t i = count; i-- > 0;) {
    const auto width = static_cast<double>(LengthGrid::width(i));
    const double lower = nodes_[i].survival;
    const double upper = nodes_[i + 1].survival;
    nodes_[i].tail = nodes_[i + 1].tail + (width + 1) / 2 * lower + (width - 1) / 2 * upper;
  }
  end_ = LengthGrid::lower(count);
}

SurvivalCurve::Node SurvivalCurve::at(std::int64_t length) const {
  const std::size_t i = LengthGrid::index(length);
  if (length < LengthGrid::exact) return nodes_[i];
  const std::int64_t offset = length - LengthGrid::lower(i);
  if (offset == 0) return nodes_[i];
  const auto width = static_cast<double>(LengthGrid::width(i));
  const double upper = nodes_[i + 1].survival;
  const double fall = (nodes_[i].survival - upper) / width;  // a token
  const double left = width - static_cast<double>(offset);   // tokens to the next node
  const double here = upper + fall * left;
  return {here, nodes_[i + 1].tail + left * (here + upper + fall) / 2};
}

double SurvivalCurve::remaining(std::int64_t age, std::int64_t horizon) const {
  const auto most = static_cast<double>(horizon);
  if (age >= end_) return most;
  const Node now = at(age);
  if (now.survival <= 0) return most;
  const std::int64_t until = horizon < end_ - age ? age + horizon : end_;
  const Node then = at(until);
  const double beyond = static_cast<double>(horizon - (until - age)) * then.survival;
  return std::clamp((now.tail - then.tail + beyond) / now.survival, 1.0, most);
}

double SurvivalCurve::survival(std::int64_t age, std::int64_t tokens) const {
  if (age >= end_) return 1;
  const double now = at(age).survival;
  if (now <= 0) return 1;
  return at(tokens < end_ - age ? age + tokens : end_).survival / now;
}

}  // namespace evenkeel::forecast
