#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulation/moments.hpp"
#include "simulation/placement_design.hpp"

namespace evenkeel::simulation {

/// What comes to a fleet, and for how long.
struct FleetSchedule {
  double horizon_s = 90;
  std::vector<planning::RateStep> profile;  ///< factors on the plan's rates from these times on; empty: 1
  double immortal_probability = 1;
  double turn_s = 0.1;  ///< the pace of reports, retries and departures
  /// A look at the world after each turn, for what an experiment measures besides.
  std::function<void(double t)> each_turn;
  /// Told of each answer that is final.
  std::function<void(const HeavyTask& task, const PlacementAnswer& answer, double t)> answered;
};

struct FleetTally {
  std::uint64_t arrivals = 0;
  std::uint64_t placed = 0;
  std::uint64_t refused = 0;
  std::uint64_t waiting = 0;        ///< at the end
  std::uint64_t moves_refused = 0;  ///< tasks that were moved away and found no other place
  std::vector<int> placed_on;       ///< by node
  std::vector<double> latencies_s;  ///< of those placed

  [[nodiscard]] int most_on_one() const;
  [[nodiscard]] double refused_share() const {
    return arrivals > 0 ? static_cast<double>(refused) / static_cast<double>(arrivals) : 0;
  }
};

/// Arrivals of all models of the world's plan, Poisson by group and model, through `design(t)`: it may differ by task,
/// as where several routers share what comes. Each of `designs` has its turns.
class FleetRun {
 public:
  FleetRun(FleetWorld& world, std::vector<PlacementDesign*> designs, FleetSchedule schedule, Random random);
  /// Plays it to the horizon.
  FleetTally play();

 private:
  void arrive(double t);
  void turn(double t);
  void account(const HeavyTask& task, const PlacementAnswer& answer, double t, bool moved);
  [[nodiscard]] double factor_at(double t) const;
  [[nodiscard]] double next_arrival(double t);
  [[nodiscard]] std::uint32_t draw_model();

  FleetWorld& world_;
  std::vector<PlacementDesign*> designs_;
  FleetSchedule schedule_;
  Random arrivals_;
  Random spread_;
  std::vector<double> rate_of_model_;
  double rate_ = 0;
  std::uint64_t next_id_ = std::uint64_t{1} << 32;  ///< beyond those that were there at the start
  struct Pending {
    HeavyTask task;
    bool moved = false;
  };
  std::unordered_map<std::uint64_t, Pending> pending_;
  FleetTally tally_;
};

}  // namespace evenkeel::simulation
