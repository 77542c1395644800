#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"
#include "planning/fleet_plan.hpp"
#include "redline/capacity_lease.hpp"
#include "redline/projection.hpp"
#include "simulation/memory_fleet.hpp"
#include "simulation/memory_node.hpp"

namespace evenkeel::simulation {

/// Virtual seconds on the axis that the redline's objects use.
[[nodiscard]] inline Time time_at(double s) { return Time(from_seconds(s)); }

/// What a node keeps free.
enum class Floors : std::uint8_t {
  none,
  published,  ///< one line, whatever is resident and whoever is heard of
  two_part,   ///< growth of its own residents, and an arrival reserve that depends on its lease
};

/// The node's part of the redline.
struct NodeRules {
  Floors floors = Floors::two_part;
  double published_gb = 3.08;
  /// Of the growth floor. It is asked at every admission of every node: at 32/33 one in 33 of these would be too many.
  double growth_level = 0.9999;
  double react_s = 0.6;  ///< pooled: what is on the wire for so long is covered, with 0.999
  double lease_s = 3;    ///< from the last word of its router
  double settle_s = 0;   ///< after having been cut off: leases are pooled again after 0 to so long
  redline::WhenCutOff when_cut_off = redline::WhenCutOff::admit;
  bool emergency = false;     ///< movable residents are moved away before memory runs out
  double emergency_gb = 1.5;  ///< headroom under which that begins
  double relocation_gb_per_s = 25;
  double relocation_overhead_s = 0.5;
};

/// What a node says of itself.
struct NodeReport {
  double headroom_gb = 0;
  double floor_gb = 0;  ///< for a task that comes now, without its own growth
  double growth_gb_per_s = 0;
  double immortal_share = 0;
  double largest_gb = 0;  ///< held by one resident
  double stamp_s = 0;
  bool blocked = false;  ///< its lease has run out and it admits nothing
};

/// The nodes of a plan, their floors and leases, and the books of what must never happen. Admission is the node's: a
/// router may only offer. Time only moves forward.
class FleetWorld {
 public:
  FleetWorld(const planning::FleetPlan& plan, NodeRules rules, StartRange start, double immortal_probability,
             Random& random);

  /// The node admits the task or refuses it, and says how it stands. A task that it has admitted before is answered as
  /// then: ids make offers idempotent.
  struct Answer {
    bool admitted = false;
    NodeReport report;
  };
  Answer offer(const HeavyTask& task, std::size_t node, double t);
  [[nodiscard]] NodeReport report(std::size_t node, double t);
  /// Whether it would admit; nothing is changed.
  [[nodiscard]] bool would_admit(const HeavyTask& task, std::size_t node, double t);

  /// Its router has been heard.
  void renew(std::size_t node, double t);
  [[nodiscard]] redline::LeaseMode mode(std::size_t node, double t) const { return leases_[node].mode(time_at(t)); }

  /// Lets time pass everywhere: departures, leases that run out, relocations. Tasks that were moved away are appended
  /// to `moved`, with what they hold by now as their footprint.
  void turn(double t, std::vector<HeavyTask>& moved);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const MemoryNode& node(std::size_t i) const { return nodes_[i]; }
  [[nodiscard]] bool serves(std::size_t node, std::uint32_t model) const;
  [[nodiscard]] const planning::FleetPlan& plan() const { return plan_; }
  [[nodiscard]] const NodeRules& rules() const { return rules_; }
  /// Quantile of what arrives at `nodes` nodes of the first group within `window_s`.
  [[nodiscard]] double reserve_gb(double nodes, double window_s, double level) const;
  [[nodiscard]] bool in_wave(std::size_t node) const { return !waves_[node].empty(); }

  /// What has happened so far.
  struct Books {
    std::uint64_t admitted = 0;
    std::uint64_t refused = 0;
    std::uint64_t moved = 0;
    std::uint64_t immortals_moved = 0;  ///< must stay 0
    std::uint64_t on_two_nodes = 0;     ///< must stay 0
    std::vector<double> siloed_at_s;    ///< when a lease ran out, once a node
    std::vector<double> pooled_at_s;    ///< when one was pooled again after that
    double siloed_node_s = 0;           ///< node seconds without a pooled lease
  };
  [[nodiscard]] const Books& books() const { return books_; }
  /// Nodes that have held more than they have, at any time.
  [[nodiscard]] std::size_t nodes_over() const;
  [[nodiscard]] double lowest_headroom_gb() const;

 private:
  struct Move {
    HeavyTask task;
    double done_s = 0;
  };

  [[nodiscard]] double arrival_floor_gb(std::size_t node, double t) const;
  [[nodiscard]] const redline::Projection& projection(std::size_t node);
  [[nodiscard]] redline::Projection::Part part_of(const HeavyTask& task, double t) const;
  [[nodiscard]] double floor_gb(std::size_t node, double t);
  [[nodiscard]] bool fits(const HeavyTask& task, std::size_t node, double t);
  void finish_moves(std::size_t node, double t, std::vector<HeavyTask>& moved);
  void start_moves(std::size_t node, double t);
  void look_at_lease(std::size_t node, double t);

  struct CachedProjection {
    redline::Projection ahead;
    double until_s = -1;
    std::uint64_t changes = 0;
  };

  planning::FleetPlan plan_;
  NodeRules rules_;
  double growth_z_;
  double pooled_gb_;
  double siloed_gb_;
  Random random_;
  std::vector<MemoryNode> nodes_;
  std::vector<std::size_t> group_of_;
  std::vector<redline::CapacityLease> leases_;
  std::vector<redline::LeaseMode> modes_;
  std::vector<std::vector<Move>> waves_;
  std::vector<CachedProjection> projections_;
  std::unordered_map<std::uint64_t, std::size_t> where_;  ///< of what is resident and came by an offer
  double now_s_ = 0;
  Books books_;
};

}  // namespace evenkeel::simulation
