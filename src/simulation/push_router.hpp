#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "redline/headroom.hpp"
#include "redline/population.hpp"
#include "redline/refusals.hpp"
#include "redline/trigger.hpp"
#include "simulation/placement_design.hpp"

namespace evenkeel::simulation {

enum class Retries : std::uint8_t { none, unbounded, budget };

/// By what the sampled are compared.
enum class Compare : std::uint8_t {
  bytes,      ///< headroom as it is, whatever the worker's size
  fraction,   ///< its fraction after a footprint that is the same for all tasks
  projected,  ///< its fraction after what this task's model holds in the middle of a window
};

struct PushOptions {
  std::string_view name = "push";
  std::size_t sampled = 2;
  bool debits = false;
  double telemetry_s = 0.3;     ///< a node reports so often
  double telemetry_loss = 0;    ///< share of reports that are lost
  double believed_s = 1e300;    ///< older reports make a node no candidate
  bool probes = false;          ///< the sampled are asked how they stand before they are compared
  bool answers_inform = false;  ///< the node's word on an offer is adopted as a report, as a refusal's always is
  Retries retries = Retries::none;
  bool skips_short = true;         ///< where the projected headroom is under the node's floor nothing is sent
  bool trigger = false;            ///< the fleet's aggregate trigger
  bool published_trigger = false;  ///< on the raw sum
  double band_gb = 0.5574;         ///< by so much more than the reserve must be left before the trigger lets go
  double level = 32.0 / 33;        ///< of the reserve
  redline::PopulationRule population = redline::PopulationRule::none;
  double population_on = 0.6;
  double population_off = 0.3;
  Compare compare = Compare::fraction;
  double footprint_gb = 0.5574;  ///< of a task, in comparison and debit
  std::uint32_t router = 0;      ///< which of `routers` it is: it renews the leases of every routers-th node
  std::uint32_t routers = 1;
};

/// Whether messages get through between a router and a node just now; empty: always.
struct RouterLinks {
  std::function<bool(std::size_t)> offers;   ///< there and back
  std::function<bool(std::size_t)> reports;  ///< from the node
};

/// The router of the fleet redline: samples, compares what it was told and has placed since, and offers. It drives the
/// redline's own objects; snapshots come by telemetry, with whatever age and loss.
class PushRouter final : public PlacementDesign {
 public:
  PushRouter(FleetWorld& world, PushOptions options, Random random, RouterLinks links = {});

  [[nodiscard]] std::string_view name() const override { return options_.name; }
  PlacementAnswer submit(const HeavyTask& task, double t) override;
  void turn(double t, std::vector<PlacementAnswer>& late) override;

  [[nodiscard]] const redline::AggregateTrigger& trigger() const { return trigger_; }
  /// Of all nodes.
  [[nodiscard]] std::uint64_t population_flips() const;
  [[nodiscard]] double frozen_s() const { return frozen_s_; }
  [[nodiscard]] std::uint64_t refused_frozen() const { return refused_frozen_; }
  /// Nodes in an eviction wave that won against a sampled one that was in none and had room.
  [[nodiscard]] std::uint64_t waves_that_won() const { return waves_that_won_; }
  [[nodiscard]] const redline::FleetHeadroom& left() const { return left_; }

 private:
  struct Seen {
    redline::Snapshot snapshot;
    double floor_gb = 0;
    redline::Debits debits;
    redline::WorkerPopulation population;
    double next_report_s = 0;
    bool silent = false;  ///< did not answer, and has not been heard of since
    bool blocked = false;
  };
  struct Waiting {
    HeavyTask task;
    double submitted_s = 0;
    double due_s = 0;
    int attempts = 0;
    std::vector<std::size_t> refused_by;
  };

  void adopt(std::size_t node, const NodeReport& report);
  void look_at_trigger(double t);
  [[nodiscard]] double left_at(std::size_t node, double t) const;
  [[nodiscard]] std::optional<std::size_t> choose(const Waiting& waiting, double t);
  void note_waves(const std::vector<std::size_t>& sampled, std::size_t count, std::size_t winner);
  /// One offer, or what stands for a refusal where there is nobody to offer to.
  PlacementAnswer attempt(Waiting waiting, double t);
  [[nodiscard]] double footprint_gb(const HeavyTask& task) const;
  PlacementAnswer after_refusal(Waiting waiting, double t);

  FleetWorld& world_;
  PushOptions options_;
  Random random_;
  RouterLinks links_;
  std::vector<Seen> seen_;
  std::vector<Waiting> waiting_;
  redline::AggregateTrigger trigger_;
  redline::RefusalComposition refusals_;
  redline::FleetHeadroom left_;
  double last_turn_s_ = 0;
  double frozen_s_ = 0;
  std::uint64_t refused_frozen_ = 0;
  std::uint64_t waves_that_won_ = 0;
};

}  // namespace evenkeel::simulation
