#pragma once

#include <span>

#include "fleet/view.hpp"

namespace evenkeel::simulation {

struct Barrier {
  double height = 0;     ///< KV tokens of the worker all wait for
  double imbalance = 0;  ///< sum over the workers of height - own load
};

/// What the loads (KV tokens by worker) cost at the barrier: I = G M - sum L_g (arXiv 2601.17855). If the workers are
/// unequal it is taken in time, which is what the others wait: sum of (longest step - own step) over the price of a
/// token at a worker of speed 1, `unit`. `steps` is empty for equal workers.
[[nodiscard]] Barrier barrier_of(std::span<const double> loads, std::span<const fleet::StepTime> steps,
                                 fleet::StepTime unit);

}  // namespace evenkeel::simulation
