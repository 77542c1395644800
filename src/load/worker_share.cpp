#include "load/worker_share.hpp"

#include <set>

namespace evenkeel::load {

std::vector<std::string> worker_names(std::span<const ReplayReport> reports) {
  std::set<std::string> names;
  for (const auto& report : reports) {
    for (const auto& worker : report.workers) names.insert(worker.name);
  }
  return {names.begin(), names.end()};
}

double answer_share(const ReplayReport& report, std::string_view worker) {
  std::uint64_t all = 0;
  std::uint64_t its = 0;
  for (const auto& entry : report.workers) {
    all += entry.answers;
    if (entry.name == worker) its = entry.answers;
  }
  return all == 0 ? 0 : static_cast<double>(its) / static_cast<double>(all);
}

}  // namespace evenkeel::load
