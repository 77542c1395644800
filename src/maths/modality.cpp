#include "maths/modality.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace evenkeel::maths {

namespace {

constexpr std::size_t places = 512;
constexpr int resamples = 200;

/// Values binned over the range of a sample and a margin beyond either end. A Gaussian estimate has no peak outside the
/// range of its values.
class Grid {
 public:
  Grid(std::span<const double> values, double margin) {
    const auto [low, high] = std::ranges::minmax(values);
    origin_ = low - margin;
    step_ = (high - low + 2 * margin) / static_cast<double>(places - 1);
  }

  /// Peaks of the kernel estimate of `values`.
  [[nodiscard]] std::size_t peaks(std::span<const double> values, double bandwidth) {
    weights_.assign(places, 0);
    for (const double value : values) {
      const double at = std::clamp((value - origin_) / step_, 0.0, static_cast<double>(places - 1));
      const auto below = std::min(static_cast<std::size_t>(at), places - 2);
      const double part = at - static_cast<double>(below);
      weights_[below] += 1 - part;
      weights_[below + 1] += part;
    }
    smooth(bandwidth / step_);
    std::size_t found = 0;
    bool rising = true;
    // What the kernel's cut-off tail leaves is no peak.
    const double least = 1e-9 * *std::ranges::max_element(density_);
    for (std::size_t i = 1; i < places; ++i) {
      const double change = density_[i] - density_[i - 1];
      if (change < -least) {
        found += rising ? 1 : 0;
        rising = false;
      } else if (change > least) {
        rising = true;
      }
    }
    return found + (rising ? 1 : 0);
  }

 private:
  void smooth(double bandwidth_in_steps) {
    const auto reach = std::min(places, static_cast<std::size_t>(6 * bandwidth_in_steps) + 1);
    kernel_.resize(reach + 1);
    for (std::size_t j = 0; j <= reach; ++j) {
      const double z = static_cast<double>(j) / bandwidth_in_steps;
      kernel_[j] = std::exp(-z * z / 2);
    }
    density_.assign(places, 0);
    for (std::size_t i = 0; i < places; ++i) {
      if (weights_[i] == 0) continue;
      const std::size_t from = i > reach ? i - reach : 0;
      const std::size_t to = std::min(places - 1, i + reach);
      for (std::size_t at = from; at <= to; ++at) {
        density_[at] += weights_[i] * kernel_[at > i ? at - i : i - at];
      }
    }
  }

  double origin_ = 0;
  double step_ = 1;
  std::vector<double> weights_;
  std::vector<double> kernel_;
  std::vector<double> density_;
};

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(std::span<const double> values) {
  Moments found;
  for (const double value : values) found.mean += value / static_cast<double>(values.size());
  for (const double value : values) {
    found.variance += (value - found.mean) * (value - found.mean) / static_cast<double>(values.size());
  }
  return found;
}

/// The least bandwidth with one peak: the number of peaks of a Gaussian estimate never grows with the bandwidth.
/// Half the range always has one.
double critical_bandwidth(std::span<const double> values) {
  Grid grid(values, 0);
  const auto [least, most] = std::ranges::minmax(values);
  double high = (most - least) / 2;
  double low = high / 1000;
  while (high / low > 1.005) {
    const double middle = std::sqrt(low * high);
    (grid.peaks(values, middle) <= 1 ? high : low) = middle;
  }
  return high;
}

std::vector<double> draw(std::span<const double> values, std::size_t count, Random& random) {
  std::vector<double> drawn(count);
  for (double& value : drawn) value = values[static_cast<std::size_t>(random.below(values.size()))];
  return drawn;
}

}  // namespace

Result<Modality> modality(std::span<const double> values, Random& random) {
  if (values.size() < least_modality_sample) {
    return failure(fmt::format("{} values; a test for peaks wants at least {}", values.size(), least_modality_sample));
  }
  const auto bad = std::ranges::find_if_not(values, [](double value) { return std::isfinite(value); });
  if (bad != values.end()) return failure(fmt::format("a value is {}; allowed: finite numbers", *bad));
  std::vector<double> sample(values.begin(), values.end());
  if (sample.size() > modality_sample) sample = draw(values, modality_sample, random);
  const auto [least, most] = std::ranges::minmax(sample);
  if (least == most) return failure(fmt::format("all {} values are {}", sample.size(), sample.front()));

  const auto [mean, variance] = moments(sample);
  Modality found;
  found.samples = sample.size();
  found.critical_bandwidth = critical_bandwidth(sample);
  // Drawn from the estimate, then pulled together so that the variance stays the sample's (Silverman 1981, section 3).
  const double h = found.critical_bandwidth;
  const double shrink = 1 / std::sqrt(1 + h * h / variance);
  Grid grid(sample, 6 * h);
  int more = 0;
  for (int i = 0; i < resamples; ++i) {
    auto drawn = draw(sample, sample.size(), random);
    for (double& value : drawn) value = mean + shrink * (value - mean + random.normal(0, h));
    more += grid.peaks(drawn, h) > 1 ? 1 : 0;
  }
  found.p_value = static_cast<double>(more) / resamples;
  return found;
}

}  // namespace evenkeel::maths
