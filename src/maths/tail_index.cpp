#include "maths/tail_index.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "maths/quantiles.hpp"

namespace evenkeel::maths {

Result<TailSample> TailSample::of(std::vector<Lifetime> values) {
  if (values.size() <= least_tail) {
    return failure(fmt::format("{} values; a tail wants at least {}", values.size(), least_tail + 1));
  }
  for (const auto& lifetime : values) {
    if (!std::isfinite(lifetime.value) || lifetime.value <= 0) {
      return failure(fmt::format("a value is {}; allowed: finite numbers over 0", lifetime.value));
    }
  }
  // Of equal values those that ended come first in time, so that one cut off at the same value outlasts them.
  std::ranges::sort(values, [](const Lifetime& a, const Lifetime& b) {
    return a.value != b.value ? a.value > b.value : !a.ended && b.ended;
  });
  if (values.front().value == values.back().value) {
    return failure(
        fmt::format("all {} values are {}; a tail wants different ones", values.size(), values.back().value));
  }
  return TailSample(std::move(values));
}

TailSample::TailSample(std::vector<Lifetime> descending) : values_(std::move(descending)), survival_(values_.size()) {
  double survival = 1;
  for (std::size_t i = values_.size(); i-- > 0;) {
    const auto at_risk = static_cast<double>(i + 1);
    if (values_[i].ended) survival *= 1 - 1 / at_risk;
    survival_[i] = survival;
  }
  // P(X > x) of a run of equal values is what is left after the last of them.
  for (std::size_t i = 1; i < values_.size(); ++i) {
    if (values_[i].value == values_[i - 1].value) survival_[i] = survival_[i - 1];
  }
}

namespace {

/// Without what looks at the whole sample again.
Result<TailFit> hill(std::span<const Lifetime> values, std::size_t k) {
  if (k < least_tail || k >= values.size()) {
    return failure(fmt::format("k is {}; allowed: {} to {}", k, least_tail, values.size() - 1));
  }
  const std::size_t wanted = k;
  while (k >= least_tail && values[k - 1].value == values[k].value) --k;
  if (k < least_tail) {
    return failure(fmt::format("the {}th to the {}th largest value are equal", least_tail, wanted + 1));
  }
  TailFit fit;
  fit.k = k;
  fit.samples = values.size();
  fit.threshold = values[k].value;
  double excess = 0;
  for (const auto& lifetime : values.first(k)) {
    excess += std::log(lifetime.value / fit.threshold);
    fit.ended += lifetime.ended ? 1 : 0;
  }
  if (fit.ended < least_tail) {
    return failure(fmt::format("of the {} largest values {} were not cut off; a tail wants at least {}", k, fit.ended,
                               least_tail));
  }
  const auto ended = static_cast<double>(fit.ended);
  fit.index = ended / excess;
  fit.standard_error = fit.index / std::sqrt(ended);
  // Of a power law 2 * excess * alpha is chi-square with 2 k degrees of freedom.
  const double beyond = (1 - usual_confidence) / 2;
  fit.interval = {fit.index * chi_square_quantile(beyond, 2 * ended) / (2 * ended),
                  fit.index * chi_square_quantile(1 - beyond, 2 * ended) / (2 * ended)};
  return fit;
}

}  // namespace

double TailSample::distance(const TailFit& fit) const {
  const double at_threshold = survival_[fit.k];
  double before = 1;  // P(X >= x) of the sample, given X > threshold
  double most = 0;
  for (std::size_t i = fit.k; i-- > 0;) {
    const double model = std::pow(values_[i].value / fit.threshold, -fit.index);
    const double after = survival_[i] / at_threshold;
    most = std::max({most, std::abs(before - model), std::abs(after - model)});
    before = after;
  }
  return most;
}

double TailSample::against_exponential(const TailFit& fit) const {
  const std::span<const Lifetime> tail = std::span(values_).first(fit.k);
  double excess = 0;
  for (const auto& lifetime : tail) excess += lifetime.value - fit.threshold;
  const double rate = static_cast<double>(fit.ended) / excess;
  double sum = 0;
  double squares = 0;
  for (const auto& [value, ended] : tail) {
    const double survival = -fit.index * std::log(value / fit.threshold) + rate * (value - fit.threshold);
    const double hazard = ended ? std::log(fit.index / value) - std::log(rate) : 0;
    sum += survival + hazard;
    squares += (survival + hazard) * (survival + hazard);
  }
  const auto k = static_cast<double>(fit.k);
  const double variance = squares / k - (sum / k) * (sum / k);
  return variance > 0 ? sum / std::sqrt(k * variance) : 0;
}

Result<TailFit> TailSample::fit(std::size_t k) const {
  auto fit = hill(values_, k);
  if (!fit) return fit;
  fit->distance = distance(*fit);
  fit->against_exponential = against_exponential(*fit);
  return fit;
}

Result<TailFit> TailSample::fit() const {
  std::optional<TailFit> best;
  std::size_t last = 0;
  for (std::size_t k = values_.size() - 1; k >= least_tail; k -= std::max<std::size_t>(1, k / 10)) {
    auto fit = hill(values_, k);
    if (!fit || fit->k == last) continue;
    last = fit->k;
    fit->distance = distance(*fit);
    if (!best || fit->distance < best->distance) best = *fit;
  }
  if (!best) return hill(values_, values_.size() - 1);
  best->against_exponential = against_exponential(*best);
  return *best;
}

}  // namespace evenkeel::maths
