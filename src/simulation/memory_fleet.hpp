#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "planning/fleet_plan.hpp"
#include "simulation/memory_node.hpp"

namespace evenkeel::simulation {

/// Headroom of a node at the start: it is drawn again until it lies within.
struct StartRange {
  double low_gb = -1e300;
  double high_gb = 1e300;
};

/// The nodes of a group in the steady state of a fleet that refuses nobody: of each model a Poisson number of
/// residents, with their lengths size-biased and their ages uniform (the law of M/G/infinity), given the range.
/// Throws std::invalid_argument where a hundred thousand draws of a node do not meet it.
[[nodiscard]] std::vector<MemoryNode> stationary_nodes(const planning::FleetPlan& plan, const planning::Group& group,
                                                       StartRange range, double immortal_probability, Random& random);

/// A new task of a model at t.
[[nodiscard]] HeavyTask draw_task(const planning::Model& model, std::uint32_t index, std::uint64_t id, double t,
                                  double immortal_probability, Random& random);

}  // namespace evenkeel::simulation
