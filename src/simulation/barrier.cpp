#include "simulation/barrier.hpp"

#include <algorithm>

namespace evenkeel::simulation {

Barrier barrier_of(std::span<const double> loads, std::span<const fleet::StepTime> steps, fleet::StepTime unit) {
  const auto workers = static_cast<double>(loads.size());
  double largest = 0;
  double sum = 0;
  if (steps.empty() || !unit.known()) {
    for (const double load : loads) {
      largest = std::max(largest, load);
      sum += load;
    }
    return {largest, workers * largest - sum};
  }
  for (std::size_t g = 0; g < loads.size(); ++g) {
    const double seconds = steps[g].of(loads[g]);
    largest = std::max(largest, seconds);
    sum += seconds;
  }
  return {(largest - unit.fixed_s) / unit.token_s, (workers * largest - sum) / unit.token_s};
}

}  // namespace evenkeel::simulation
