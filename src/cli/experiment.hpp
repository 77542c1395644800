#pragma once

#include <string>

#include "base/error.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/study.hpp"

namespace evenkeel::cli {

/// Runs the study of that name, writes its page and picture to `directory` and prints their paths, or one JSON object.
[[nodiscard]] Result<int> run_experiment(const std::string& name, const std::string& directory,
                                         simulation::StudyRun run, bool json);

/// The same of an experiment with a fleet's memory; also prints what it found. Returns 1 if a claim did not hold.
[[nodiscard]] Result<int> run_experiment(const simulation::FleetExperiment& experiment, const std::string& directory,
                                         simulation::ExperimentRun run, bool json);

}  // namespace evenkeel::cli
