#pragma once

#include <span>
#include <string>

#include "simulation/batch.hpp"

namespace evenkeel::simulation {

/// What was asked, in words: workload and arrivals.
[[nodiscard]] std::string workload_text(const Setting& setting);

/// One JSON object with a line end; keys as docs/simulate.md has them. Nothing in it depends on the wall clock but
/// runs[].timing, which is there only if the runs were timed. `notes`: what was assumed, for a person.
[[nodiscard]] std::string to_json(const Setting& setting, std::span<const Summary> summaries,
                                  std::span<const std::string> notes);

/// A table for people: a row a policy, means +- standard errors over the seeds, ratios to the first policy.
[[nodiscard]] std::string result_table(const Setting& setting, std::span<const Summary> summaries,
                                       std::span<const std::string> notes);

}  // namespace evenkeel::simulation
