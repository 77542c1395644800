#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "simulation/fleet_world.hpp"

namespace evenkeel::simulation {

/// What became of a task that was handed to a design.
struct PlacementAnswer {
  enum class What : std::uint8_t { placed, waits, refused };
  What what = What::refused;
  std::uint64_t task = 0;
  std::size_t node = 0;  ///< if placed
  double latency_s = 0;  ///< from submit() to the placement or refusal, message times included
};

/// What a design costs.
struct PlacementAccounts {
  std::uint64_t submitted = 0;
  std::uint64_t attempts = 0;    ///< offers to a node
  std::uint64_t retries = 0;     ///< of these, after a refusal
  std::uint64_t conflicts = 0;   ///< commits that were turned back because the state had moved on
  std::uint64_t messages = 0;    ///< for tasks: requests and answers, one each
  std::uint64_t background = 0;  ///< telemetry, polls and state that is sent round, whether anything comes or not
};

/// How tasks get to nodes. A task is submitted when it comes; what waits is told of by a later turn().
class PlacementDesign {
 public:
  virtual ~PlacementDesign() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  virtual PlacementAnswer submit(const HeavyTask& task, double t) = 0;
  /// Called at regular instants; appends the answers of those that waited.
  virtual void turn(double t, std::vector<PlacementAnswer>& late) = 0;
  [[nodiscard]] const PlacementAccounts& accounts() const { return accounts_; }

 protected:
  PlacementAccounts accounts_;
};

/// One way between router and node, or between two routers.
inline constexpr double one_way_s = 0.0005;
inline constexpr double round_trip_s = 2 * one_way_s;

}  // namespace evenkeel::simulation
