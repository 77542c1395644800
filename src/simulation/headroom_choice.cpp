#include "simulation/headroom_choice.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace evenkeel::simulation {

std::size_t HeadroomChoice::choose(std::span<const double> scores, Random& random) {
  if (order_.size() != scores.size()) {
    order_.resize(scores.size());
    std::iota(order_.begin(), order_.end(), 0U);
  }
  // A partial shuffle from whatever order the last one left is still uniform.
  const std::size_t sampled = std::min(sampled_, scores.size());
  std::size_t best = 0;
  std::uint64_t equals = 0;
  for (std::size_t k = 0; k < sampled; ++k) {
    std::swap(order_[k], order_[k + random.below(scores.size() - k)]);
    const std::size_t place = order_[k];
    if (k > 0 && scores[place] < scores[best]) continue;
    equals = k > 0 && scores[place] == scores[best] ? equals + 1 : 1;
    if (equals == 1 || random.below(equals) == 0) best = place;
  }
  return best;
}

}  // namespace evenkeel::simulation
