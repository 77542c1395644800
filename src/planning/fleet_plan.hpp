#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "planning/duration_law.hpp"

namespace evenkeel::planning {

/// What one heavy task holds of one resource at age a: fixed + growth_per_s * a, in the resource's unit.
struct Footprint {
  double fixed = 0;
  double growth_per_s = 0;

  [[nodiscard]] double at(double age_s) const { return fixed + growth_per_s * age_s; }
};

/// A kind of heavy task: how long it stays and what it holds.
struct Model {
  std::string name;
  DurationLaw duration;
  std::vector<Footprint> footprints;  ///< one a resource of the plan, in their order
};

/// Workers that are alike and serve the same models.
struct Group {
  std::string name;
  std::int64_t nodes = 1;
  std::vector<double> capacity;         ///< of one node: one a resource of the plan
  std::vector<double> rate_per_node_s;  ///< heavy arrivals per node and second: one a model, 0 if it is not served
};

/// From `from_s` into the window on, arrivals come `factor` times as fast as the groups' rates say.
struct RateStep {
  double from_s = 0;
  double factor = 1;
};

/// What a reserve is computed from. Filled from flags, from a file, or from what was measured.
struct FleetPlan {
  std::vector<std::string> resources{"memory_gb"};  ///< first memory, in 1e9 bytes; others in units of their own
  std::vector<Model> models;
  std::vector<Group> groups;
  double level = 32.0 / 33;       ///< probability that the reserve suffices for one window
  double scale_time_s = 90;       ///< from the decision to scale to live capacity: the window
  double staleness_s = 0;         ///< age that the router's view of the fleet may have
  double correlated_share = 1;    ///< share of pressed windows that are pressed on the whole fleet
  double correlation = 0;         ///< of the arrival counts of two nodes in one window
  double sequence_gb = 0;         ///< what an ordinary sequence holds of the first resource; 0: not said
  std::vector<RateStep> profile;  ///< ascending, the first from 0; empty: constant rates

  /// The first fault, in words: which field, what it was, what is allowed.
  [[nodiscard]] Result<void> check() const;
};

/// Integral of the profile's factor over a window.
[[nodiscard]] double profile_integral(const FleetPlan& plan, double window_s);
/// Heavy arrivals in a window, mean over all nodes.
[[nodiscard]] double arrivals_per_node(const FleetPlan& plan, double window_s);

/// The same fleet with `nodes` nodes in all: groups in proportion, each with at least one.
[[nodiscard]] FleetPlan with_nodes(FleetPlan plan, std::int64_t nodes);
/// The same fleet with all rates times `factor`.
[[nodiscard]] FleetPlan with_rates_times(FleetPlan plan, double factor);

/// Llama-2-70B in 16 bits on four accelerators of 40 GiB (Patel et al. 2024), with the heavy tasks of a published
/// series on capacity under heavy tails (Polyulya 2026, part 1): 88.8 an hour and node, Pareto of mean 300 s and
/// index 2.2. `prompt_gb` is what the prompt's cache holds.
[[nodiscard]] FleetPlan splitwise_70b(std::int64_t nodes, double prompt_gb);

/// Bytes of cache per token of that model: 2 * 80 layers * 8 heads * 128 * 2 bytes.
inline constexpr double splitwise_70b_bytes_per_token = 327'680;
inline constexpr double splitwise_70b_prompt_tokens = 1020;  ///< median of its conversations
inline constexpr std::string_view splitwise_70b_name = "splitwise-70b";

}  // namespace evenkeel::planning
