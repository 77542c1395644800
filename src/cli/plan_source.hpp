#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "cli/fit_source.hpp"
#include "planning/demand.hpp"
#include "planning/fleet_plan.hpp"

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// The flags that say what is planned for: the same for every `plan` command that starts from a fleet.
struct PlanSource {
  std::string specimen;
  std::string fleet;  ///< a TOML file
  FitSource fit;      ///< a log or a trace, if it has a path
  std::optional<double> capacity_gb;
  std::optional<std::int64_t> nodes;
  std::optional<double> prompt_gb;
  std::optional<double> prompt_tokens;
  std::optional<std::string> level;
  std::optional<std::string> cost_ratio;
  std::optional<double> breaches_per_month;
  std::optional<double> scale_time_s;
  std::optional<double> staleness_s;
  std::optional<double> correlated_share;
  std::optional<double> correlation;
  std::optional<std::string> profile;
  double surge = 1;
  std::string evaluator = "automatic";
  bool json = false;

  void add_to(CLI::App& command);
  /// The plan, checked. Errors name the flag or the place in the file.
  [[nodiscard]] Result<planning::FleetPlan> read() const;
  [[nodiscard]] Result<planning::Evaluator> read_evaluator() const { return planning::evaluator_of(evaluator); }
};

}  // namespace evenkeel::cli
