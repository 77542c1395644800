#pragma once

#include <string>
#include <vector>

#include "simulation/study.hpp"

namespace evenkeel::simulation {

/// The command that makes a study.
[[nodiscard]] std::string command_of(const Study& study, const StudyRun& run);

/// Writes <directory>/<name>.md and .svg, making the directory. Nothing in them depends on the clock, the machine or
/// the number of threads. Returns the paths; errors name the file.
[[nodiscard]] Result<std::vector<std::string>> write_study(const std::string& directory, const Study& study,
                                                           const StudyRun& run, const StudyResults& results);

/// One JSON object with a line end: of each case its label and what to_json() says of each line.
[[nodiscard]] std::string study_json(const Study& study, const StudyRun& run, const StudyResults& results,
                                     const std::vector<std::string>& files);

}  // namespace evenkeel::simulation
