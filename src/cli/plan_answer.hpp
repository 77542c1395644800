#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "planning/cost.hpp"
#include "planning/fleet_reserve.hpp"
#include "planning/open_windows.hpp"
#include "planning/overlap.hpp"
#include "planning/readings.hpp"
#include "planning/standing.hpp"
#include "planning/to_set.hpp"

namespace evenkeel::cli {

/// What `plan reserve` is asked for beside the reserve itself.
struct ReserveQuestions {
  planning::Evaluator evaluator = planning::Evaluator::automatic;
  bool published = false;  ///< the published reserve alone: nothing for what tasks grow by
  bool windows = false;
  bool standing = false;
  bool maximum = false;
  bool loss = false;
  bool footprints = false;
  std::optional<planning::CostModel> costs;
  std::size_t paths = 20'000;
  std::uint64_t seed = 1;
};

/// Of one pool of groups.
struct PoolAnswer {
  planning::ToSet to_set;
  std::vector<planning::OverlapCondition> overlap;  ///< empty where all groups serve the same models
  // Only of memory, and where asked.
  std::optional<std::array<planning::WindowReading, 4>> windows;
  std::optional<planning::NetChange> net_change;
  std::optional<planning::CheapestReserve> cheapest;
};

/// Of one worker of a group.
struct WorkerAnswer {
  planning::LocalFloor floor;
  // Only of memory, and where asked.
  std::optional<planning::NetChange> net_change;
  std::optional<planning::Standing> standing;
  std::optional<planning::RunningMaximum> maximum;
  std::optional<planning::LossReading> loss;
};

struct ResourceAnswer {
  planning::FleetReserve reserve;
  std::vector<PoolAnswer> pools;      ///< as reserve.pools
  std::vector<WorkerAnswer> workers;  ///< one a group
};

struct ReserveAnswer {
  planning::FleetPlan plan;
  ReserveQuestions questions;
  std::vector<ResourceAnswer> resources;  ///< as the plan has them: memory first
};

/// Everything that was asked for. Pure.
[[nodiscard]] Result<ReserveAnswer> answer(planning::FleetPlan plan, const ReserveQuestions& questions);

/// What the numbers beside the reserve itself rest on: name, words.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> details_provenance(const ReserveAnswer& answer);

/// One JSON object; the keys are in docs/planning.md.
[[nodiscard]] std::string to_json(const ReserveAnswer& answer);
/// For people: what to set first.
[[nodiscard]] std::string to_text(const ReserveAnswer& answer);

/// Reserve against fleet size as SVG: pooled, siloed, floor, and the pooled one under correlation and surge.
[[nodiscard]] Result<std::string> reserve_svg(const planning::FleetPlan& plan, planning::Evaluator evaluator);

}  // namespace evenkeel::cli
