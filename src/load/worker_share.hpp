#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/replay_report.hpp"

namespace evenkeel::load {

/// All workers that any of the reports names, in order.
[[nodiscard]] std::vector<std::string> worker_names(std::span<const ReplayReport> reports);
/// The worker's part of the answers that named one, 0 to 1; 0 if the report does not name it.
[[nodiscard]] double answer_share(const ReplayReport& report, std::string_view worker);

}  // namespace evenkeel::load
