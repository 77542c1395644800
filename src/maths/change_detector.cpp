#include "maths/change_detector.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace evenkeel::maths {

SmoothedRate::SmoothedRate(double weight) : weight_(weight) {
  if (!(weight > 0 && weight <= 1)) throw std::invalid_argument("weight of a smoothed rate: over 0, at most 1");
}

void SmoothedRate::add(double count) {
  value_ = windows_ == 0 ? count : value_ + weight_ * (count - value_);
  ++windows_;
}

double SmoothedRate::settling_windows() const { return weight_ == 1 ? 0 : -1 / std::log1p(-weight_); }

PoissonCusum::PoissonCusum(double factor, double apart, double dispersion)
    : factor_(factor), threshold_(std::log(apart)), dispersion_(dispersion) {
  if (!(factor > 0 && std::isfinite(factor) && factor != 1)) {
    throw std::invalid_argument("factor of a cumulative sum: over 0, not 1");
  }
  if (!(apart > 1 && std::isfinite(apart))) throw std::invalid_argument("windows between false alarms: over 1");
  if (!(dispersion >= 1 && std::isfinite(dispersion))) throw std::invalid_argument("dispersion: at least 1");
}

bool PoissonCusum::add(double count, double mean) {
  sum_ += (count * std::log(factor_) - mean * (factor_ - 1)) / dispersion_;
  ++since_;
  if (sum_ <= 0) {
    sum_ = 0;
    since_ = 0;
  }
  return sum_ >= threshold_;
}

namespace {

/// The windows of [first, end) that belong together: all of them, or those before the first change.
std::size_t stretch_from(std::span<const double> counts, std::size_t first, const ChangeOptions& options) {
  PoissonCusum up(options.factor, options.apart, options.dispersion);
  PoissonCusum down(1 / options.factor, options.apart, options.dispersion);
  double arrivals = 0;
  for (std::size_t i = first; i < counts.size(); ++i) {
    if (arrivals >= options.least_known) {
      const double mean = arrivals / static_cast<double>(i - first);
      const bool grown = up.add(counts[i], mean);
      const bool fallen = down.add(counts[i], mean);
      if (grown || fallen) return i + 1 - (grown ? up : down).since() - first;
    }
    arrivals += counts[i];
  }
  return counts.size() - first;
}

}  // namespace

std::vector<Stretch> stretches_of_rate(std::span<const double> counts, const ChangeOptions& options) {
  if (!(options.factor > 1 && options.least_known > 0)) {
    throw std::invalid_argument("options of a search for changes: factor over 1, least_known over 0");
  }
  std::vector<Stretch> found;
  for (std::size_t first = 0; first < counts.size();) {
    const std::size_t windows = stretch_from(counts, first, options);
    const auto part = counts.subspan(first, windows);
    found.push_back({first, windows, std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(windows)});
    first += windows;
  }
  return found;
}

}  // namespace evenkeel::maths
