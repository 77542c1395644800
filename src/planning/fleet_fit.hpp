#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planning/arrival_fit.hpp"
#include "planning/fleet_plan.hpp"
#include "planning/length_fit.hpp"

namespace evenkeel::planning {

/// What a log or a trace says of the fleet that a reserve is planned for.
struct FleetFit {
  FitOptions options;
  std::size_t requests = 0;
  std::vector<Observation> heavy;
  ArrivalFit arrivals;
  LengthFit lengths;
  std::vector<std::string> warnings;   ///< what a reader must know before believing the numbers
  std::vector<std::string> obstacles;  ///< why no reserve can be planned from them; empty: one can

  struct Row {
    std::string_view key;  ///< as in the JSON
    std::string_view unit;
    const Fitted* value;
  };
  /// All estimates in the order of the report.
  [[nodiscard]] std::vector<Row> rows() const;
};

/// Refused: options or observations out of bounds, nothing seen, no heavy request. What the data does not carry beyond
/// that is refused estimate by estimate. `span_s` is the time that was looked at, at least the last arrival.
[[nodiscard]] Result<FleetFit> fit_fleet(std::span<const Observation> observations, double span_s,
                                         const FitOptions& options);

/// The plan of `nodes` equal workers of `capacity_gb` KV memory each that serve such requests: prompts in
/// `prompt_classes` classes of equally many, durations as they were seen up to the tail's threshold and Pareto over it,
/// the rate of all windows, the correlation that the dispersion about the drift implies. Refused with the first
/// obstacle.
inline constexpr std::size_t prompt_classes = 4;
[[nodiscard]] Result<FleetPlan> plan_of(const FleetFit& fit, std::int64_t nodes, double capacity_gb);

}  // namespace evenkeel::planning
