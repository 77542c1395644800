#pragma once

#include <span>
#include <string>

#include "load/replay_report.hpp"

namespace evenkeel::load {

/// The distribution of TTFT and, if receipts told workers, each worker's share of the answers: one SVG with a
/// curve and a bar for every report.
[[nodiscard]] std::string comparison_svg(std::span<const ReplayReport> reports);

}  // namespace evenkeel::load
