#pragma once

#include <string>
#include <vector>

#include "simulation/fleet_experiment.hpp"

namespace evenkeel::simulation {

/// The command that makes it again.
[[nodiscard]] std::string command_of(const FleetExperiment& experiment, const ExperimentRun& run);

/// Writes <directory>/<name>.md and, if there is a picture, <name>.svg, making the directory. Nothing in them depends
/// on the clock or the machine. Returns the paths; errors name the file.
[[nodiscard]] Result<std::vector<std::string>> write_experiment(const std::string& directory,
                                                                const FleetExperiment& experiment,
                                                                const ExperimentRun& run,
                                                                const ExperimentResult& result);

/// One JSON object with a line end: figures by key, findings with whether they hold, tables by column.
[[nodiscard]] std::string experiment_json(const FleetExperiment& experiment, const ExperimentRun& run,
                                          const ExperimentResult& result, const std::vector<std::string>& files);

}  // namespace evenkeel::simulation
