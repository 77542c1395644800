#include "routing/margin_score.hpp"

#include <algorithm>

namespace evenkeel::routing {

void MarginScore::face(const Projection& projection, std::uint32_t worker) {
  const auto row = projection.row(worker);
  const auto peak = projection.peak();
  const std::size_t offsets = projection.offsets();
  while (weights_.size() < offsets) weights_.push_back(weights_.empty() ? 1.0 : weights_.back() * gamma_);
  order_.clear();
  for (std::size_t h = 0; h < offsets; ++h) order_.emplace_back(peak[h] - row[h], h);
  std::sort(order_.begin(), order_.end());
  margins_.clear();
  weight_below_.assign(1, 0.0);
  weighted_below_.assign(1, 0.0);
  for (const auto& [margin, h] : order_) {
    margins_.push_back(margin);
    weight_below_.push_back(weight_below_.back() + weights_[h]);
    weighted_below_.push_back(weighted_below_.back() + weights_[h] * static_cast<double>(margin));
  }
}

double MarginScore::operator()(std::int64_t total) const {
  if (total <= margins_.front()) return weight_below_.back() * static_cast<double>(total);
  const auto below =
      static_cast<std::size_t>(std::lower_bound(margins_.begin(), margins_.end(), total) - margins_.begin());
  const auto b = static_cast<double>(total);
  return weight_below_.back() * b - beta_ * (b * weight_below_[below] - weighted_below_[below]);
}

}  // namespace evenkeel::routing
