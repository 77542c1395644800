#include "forecast/measures.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::forecast {

std::optional<double> area_under_curve(std::vector<float> positives, std::vector<float> negatives) {
  if (positives.empty() || negatives.empty()) return std::nullopt;
  std::sort(positives.begin(), positives.end());
  std::sort(negatives.begin(), negatives.end());
  double pairs = 0;
  auto below = negatives.begin();
  auto not_above = negatives.begin();
  for (const float value : positives) {
    while (below != negatives.end() && *below < value) ++below;
    while (not_above != negatives.end() && *not_above <= value) ++not_above;
    pairs += static_cast<double>(below - negatives.begin()) + 0.5 * static_cast<double>(not_above - below);
  }
  return pairs / (static_cast<double>(positives.size()) * static_cast<double>(negatives.size()));
}

void MeasureSums::add(const Verdict& verdict) {
  const auto horizon = static_cast<double>(horizon_);
  const bool positive = verdict.truth <= horizon_;
  const double p = std::clamp(verdict.within, 0.0, 1.0);
  (positive ? given_to_positives_ : given_to_negatives_).push_back(static_cast<float>(p));
  const double hit = positive ? 1 : 0;
  squares_ += (p - hit) * (p - hit);
  c_errors_ += std::abs(verdict.remaining - static_cast<double>(std::min(verdict.truth, horizon_)));
  if (positive) {
    const double mu = p > 0 ? std::clamp((verdict.remaining - (1 - p) * horizon) / p, 0.0, horizon) : horizon;
    mu_errors_ += std::abs(mu - static_cast<double>(verdict.truth));
  }
  auto& bin = sums_[std::min(static_cast<std::size_t>(p * 10), sums_.size() - 1)];
  ++bin.count;
  bin.forecast += p;
  bin.came_true += hit;
}

Measures MeasureSums::measures() const {
  Measures out;
  out.positives = given_to_positives_.size();
  out.questions = out.positives + given_to_negatives_.size();
  if (out.questions == 0) return out;
  const auto count = static_cast<double>(out.questions);
  const double share = static_cast<double>(out.positives) / count;
  out.auc = area_under_curve(given_to_positives_, given_to_negatives_);
  if (out.positives > 0) out.mu_error = mu_errors_ / static_cast<double>(out.positives);
  out.c_error = c_errors_ / count;
  out.brier = squares_ / count;
  out.base_brier = share * (1 - share);
  out.bins = sums_;
  for (auto& bin : out.bins) {
    if (bin.count == 0) continue;
    bin.forecast /= static_cast<double>(bin.count);
    bin.came_true /= static_cast<double>(bin.count);
  }
  return out;
}

}  // namespace evenkeel::forecast
