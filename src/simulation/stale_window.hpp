#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "planning/fleet_plan.hpp"
#include "simulation/memory_fleet.hpp"

namespace evenkeel::simulation {

/// One window of heavy arrivals, routed on snapshots of a fleet that moves.
struct StaleWindow {
  StartRange start;
  double rate_factor = 1;
  double refresh_s = 0.3;      ///< all nodes are looked at together so often, the first time at 0
  std::size_t sampled = 2;     ///< as many as there are nodes: argmax
  bool debits = false;         ///< take off what has been placed since the snapshot
  double debit_gb = 0.5574;    ///< for each
  double refuse_at_gb = 3.08;  ///< a node refuses what comes while its headroom is at or under this; no retries
  std::size_t routers = 1;     ///< arrivals are spread over them; each has debits of its own
};

struct StaleWindowTally {
  int arrivals = 0;
  int refused = 0;
  int most_on_one = 0;            ///< placements of the window
  double lowest_at_close_gb = 0;  ///< headroom of the fullest node at the end of the window
  double lowest_gb = 0;           ///< at any time of it
};

/// Placed by the policies `headroom` and `headroom_argmax`. The first group and model of the plan, a window of its
/// scale time. `nodes` are of stationary_nodes(); what comes is drawn from `arrivals`, so that windows of the same seed
/// differ in the choices alone.
[[nodiscard]] StaleWindowTally run_stale_window(const planning::FleetPlan& plan, const StaleWindow& window,
                                                std::vector<MemoryNode> nodes, Random arrivals, Random choices);

}  // namespace evenkeel::simulation
