#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "simulation/options.hpp"
#include "workload/trace.hpp"

namespace evenkeel::simulation {

/// The trace that options.trace names, for its lengths. Errors name the option; `notes` is told what was assumed.
[[nodiscard]] Result<std::shared_ptr<const workload::Trace>> read_trace_lengths(const Options& options,
                                                                                std::vector<std::string>& notes);

}  // namespace evenkeel::simulation
