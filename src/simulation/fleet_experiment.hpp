#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::simulation {

/// Named experiments with a fleet whose memory is modelled byte by byte: how the fleet redline holds. Unlike a Study,
/// which compares policies in one setting of the engine model, each has its own model and its own measures.

/// What a table shows: a word, or a number with so many decimals.
struct Cell {
  std::string text;
  std::optional<double> value;  ///< of a number, not rounded
};
[[nodiscard]] Cell words(std::string text);
[[nodiscard]] Cell number(double value, int decimals);
/// As "3.080 ±0.006"; the value alone goes into JSON.
[[nodiscard]] Cell number_with_error(double value, double error, int decimals);

struct ExperimentTable {
  std::string heading;  ///< a line of Markdown without its ##
  std::string reading;  ///< a paragraph above the table; may be empty
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

/// A claim that the run was made to test.
struct Finding {
  std::string text;  ///< with its numbers from the run
  bool holds = true;
};

/// A number with a stable key, for scripts.
struct Figure {
  std::string key;
  double value = 0;
};

struct ExperimentResult {
  std::vector<Figure> figures;
  std::vector<ExperimentTable> tables;
  std::vector<Finding> findings;
  std::string picture;  ///< SVG; empty: this experiment has none

  [[nodiscard]] bool all_hold() const;
  /// Of the figure with that key, if there is one.
  [[nodiscard]] std::optional<double> figure(std::string_view key) const;
};

struct ExperimentRun {
  std::uint64_t seed = 1;
  std::int64_t trials = 0;                 ///< 0: as many as the experiment has by itself
  std::function<void(double)> share_done;  ///< told now and then how much is done, 0 to 1; may be empty

  /// `done` of `whole` parts are done.
  void tell(double done, double whole) const {
    if (share_done) share_done(done / whole);
  }
};

struct FleetExperiment {
  std::string_view name;
  std::string title;
  std::string reading;                                        ///< what is asked, and of which model
  std::string trial;                                          ///< what a trial is, in words
  std::int64_t trials = 0;                                    ///< by default
  std::function<ExperimentResult(const ExperimentRun&)> run;  ///< with trials > 0
};

[[nodiscard]] std::span<const std::string_view> fleet_experiment_names();
/// Nothing if none has that name.
[[nodiscard]] std::optional<FleetExperiment> find_fleet_experiment(std::string_view name);
/// Errors: trials out of bounds.
[[nodiscard]] Result<ExperimentResult> run_fleet_experiment(const FleetExperiment& experiment, ExperimentRun run);

/// Argmax and sampled choice on one frozen snapshot, beside the exact law.
[[nodiscard]] FleetExperiment herding_experiment();
/// Routing on snapshots of 0.3 to 90 s of age, in surges and near the redline.
[[nodiscard]] FleetExperiment headroom_staleness_experiment();
/// Push, late binding, pull, shared state and a serial decider behind one interface.
[[nodiscard]] FleetExperiment placement_experiment();
/// Routers cut off from each other and from workers, with workers that admit or block.
[[nodiscard]] FleetExperiment partition_experiment();
/// Movable and immortal tasks under three rules, and how often a worker's switch flips.
[[nodiscard]] FleetExperiment population_experiment();
/// Every subset of the redline's mechanisms in a surge, and what must never happen.
[[nodiscard]] FleetExperiment composition_experiment();
/// Retries with and without a budget, under one line and under floors in two parts.
[[nodiscard]] FleetExperiment refusals_experiment();
/// What the planner computes, drawn task by task: correlation, surges, open windows, two clocks, the shape of failure.
[[nodiscard]] FleetExperiment reserve_experiment();
/// Three models on workers of two sizes, by raw and by projected headroom.
[[nodiscard]] FleetExperiment mixed_models_experiment();
/// What happens to single tasks, by kind, with the reserve pooled and siloed.
[[nodiscard]] FleetExperiment single_task_experiment();

}  // namespace evenkeel::simulation
