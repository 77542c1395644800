#pragma once

#include <cstdint>
#include <vector>

#include "planning/fleet_plan.hpp"

namespace evenkeel::simulation {

/// A heavy task on a node. Its memory at time t is footprint.at(t - start_s).
struct HeavyTask {
  std::uint64_t id = 0;
  double start_s = 0;  ///< before 0 for those that were there at the start
  double end_s = 0;
  planning::Footprint footprint;  ///< GB, GB/s
  bool immortal = true;           ///< its state can neither be moved nor dropped
  std::uint32_t model = 0;
  double served_s = 0;  ///< elsewhere, before it was moved here

  [[nodiscard]] double held_gb(double t) const { return footprint.at(t - start_s); }
};

/// The memory of one node: its residents and their ages, in bytes exact to rounding. Time only moves forward.
class MemoryNode {
 public:
  explicit MemoryNode(double capacity_gb) : capacity_gb_(capacity_gb) {}

  /// Lets go who has ended by t. Between two ends memory only grows, so the lowest headroom on the way is seen, too.
  void advance(double t);
  /// Whether there is room is for the caller to ask; advance() to the task's start first.
  void admit(const HeavyTask& task);
  /// Takes a task off before its end (an eviction); false if it is not here.
  bool evict(std::uint64_t id);

  [[nodiscard]] double capacity_gb() const { return capacity_gb_; }
  [[nodiscard]] double used_gb() const { return base_gb_ + growth_ * now_s_; }  ///< at the last advance()
  [[nodiscard]] double headroom_gb() const { return capacity_gb_ - used_gb(); }
  /// How fast the residents grow in all, GB/s.
  [[nodiscard]] double growth_gb_per_s() const { return growth_; }
  /// Of immortal residents, as a share of what is held; 0 if nothing is.
  [[nodiscard]] double immortal_share() const;
  [[nodiscard]] double now_s() const { return now_s_; }
  [[nodiscard]] const std::vector<HeavyTask>& residents() const { return residents_; }
  /// How often somebody came or went.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// The least headroom since the start, just before each end and after each admission.
  [[nodiscard]] double lowest_headroom_gb() const { return lowest_gb_; }
  /// Whether it has held more than it has: where a real engine preempts or dies.
  [[nodiscard]] bool ever_over() const { return lowest_gb_ < 0; }

 private:
  void note_lowest();
  /// Sums over the residents anew: they do not drift, and what is asked between two changes costs nothing.
  void residents_changed();

  double capacity_gb_;
  double base_gb_ = 0;  ///< what is held at t is base + growth * t
  double growth_ = 0;
  double next_end_s_ = 1e300;
  std::uint64_t changes_ = 0;
  double now_s_ = 0;
  double lowest_gb_ = 1e300;
  std::vector<HeavyTask> residents_;
};

}  // namespace evenkeel::simulation
