#pragma once

#include <span>
#include <string>

#include "load/replay_report.hpp"

namespace evenkeel::load {

/// Everything of one run for a person: load, latencies, workers, failures, notes.
[[nodiscard]] std::string result_table(const ReplayReport& report);

/// Runs side by side, one column each under its label: requests, TTFT, TPOT, e2e, output tokens per second,
/// and each worker's share of the answers.
[[nodiscard]] std::string comparison_table(std::span<const ReplayReport> reports);

}  // namespace evenkeel::load
