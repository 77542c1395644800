#include "maths/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace evenkeel::maths {

Histogram::Histogram(double relative_error, double lowest, double highest)
    : relative_error_(relative_error), lowest_(lowest), highest_(highest) {
  if (!(relative_error > 0 && relative_error < 1)) {
    throw std::invalid_argument("Histogram: relative_error must lie between 0 and 1");
  }
  if (!(lowest > 0 && lowest < highest && std::isfinite(highest))) {
    throw std::invalid_argument("Histogram: 0 < lowest < highest must hold");
  }
  growth_ = (1 + relative_error) / (1 - relative_error);
  log_growth_ = std::log(growth_);
  buckets_.resize(static_cast<std::size_t>(std::ceil(std::log(highest / lowest) / log_growth_)) + 2);
}

std::size_t Histogram::bucket_of(double value) const {
  if (!(value > lowest_)) return 0;
  if (value > highest_) return buckets_.size() - 1;
  const auto bucket = static_cast<std::size_t>(std::ceil(std::log(value / lowest_) / log_growth_));
  return std::clamp<std::size_t>(bucket, 1, buckets_.size() - 2);
}

void Histogram::add(double value, std::uint64_t times) {
  if (times == 0) return;
  if (!(value > 0)) value = 0;
  buckets_[bucket_of(value)] += times;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += times;
  sum_ += value * static_cast<double>(times);
}

void Histogram::merge(const Histogram& other) {
  if (other.relative_error_ != relative_error_ || other.lowest_ != lowest_ || other.highest_ != highest_) {
    throw std::invalid_argument("Histogram: only histograms of the same parameters merge");
  }
  if (other.count_ == 0) return;
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
}

void Histogram::clear() {
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = 0;
  sum_ = min_ = max_ = 0;
}

double Histogram::percentile(double p) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(static_cast<double>(count_ - 1) * std::clamp(p, 0.0, 100.0) / 100);
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < buckets_.size() && seen + buckets_[bucket] <= rank) seen += buckets_[bucket++];
  if (bucket == 0) return min_;
  if (bucket + 1 == buckets_.size()) return max_;
  // 2 * upper / (growth + 1) is off by the same relative error at both edges of the bucket.
  const double upper = lowest_ * std::exp(static_cast<double>(bucket) * log_growth_);
  return std::clamp(2 * upper / (growth_ + 1), min_, max_);
}

std::uint64_t Histogram::count_at_most(double value) const {
  if (value >= max_) return count_;
  if (value < min_ || count_ == 0) return 0;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i <= bucket_of(value); ++i) seen += buckets_[i];
  return seen;
}

}  // namespace evenkeel::maths
