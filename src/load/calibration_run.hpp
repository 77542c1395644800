#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "calibrate/calibration.hpp"
#include "calibrate/options.hpp"

namespace evenkeel::load {

/// Which engine to measure, and where it can be seen that others use it.
struct CalibrationTarget {
  std::string url;                                           ///< the engine's; empty: as the router says
  std::string model;                                         ///< empty: the only one that it serves
  std::vector<std::pair<std::string, std::string>> headers;  ///< sent with every request to the engine
  std::string router;  ///< admin API of a router that has it as a worker; empty: none
  std::string worker;  ///< its name there
};

struct CalibrationProgress {
  std::int64_t level = 0;
  std::int64_t ended = 0;  ///< requests that were measured, of `wanted` at this level
  std::int64_t wanted = 0;
};
/// Called on the thread of the run whenever a request has ended; may be empty.
using OnCalibration = std::function<void(const CalibrationProgress&)>;

/// Measures the engine, and only it: every request goes to its address. Runs its own event loop on the calling thread
/// until the knee is known. `run` makes the prompts differ from those of another run. `options` are valid, and both
/// urls can be read. measured_at_ms is left to the caller. Error: the engine cannot be asked, is a router that might
/// send requests on, serves several models and none was named, has requests of others in it before or while it is
/// measured, was started anew, or did not answer a request whole; then every request is given up at once.
[[nodiscard]] Result<calibrate::Calibration> run_calibration(const CalibrationTarget& target,
                                                             const calibrate::Options& options, std::uint64_t run,
                                                             const OnCalibration& progress = {});

}  // namespace evenkeel::load
