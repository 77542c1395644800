#pragma once

#include <string>

#include "load/replay_report.hpp"

namespace evenkeel::load {

/// The report as one JSON object and a line feed. docs/replay.md tells every key. A latency without a sample
/// is null.
[[nodiscard]] std::string to_json(const ReplayReport& report);

}  // namespace evenkeel::load
