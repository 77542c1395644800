#include "simulation/studies.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "simulation/fleet_experiment.hpp"

namespace evenkeel::simulation {

namespace {

struct Entry {
  std::string_view name;
  Study (*make)();
};
constexpr std::array entries = {
    Entry{"balance-table", balance_table_study}, Entry{"scaling", scaling_study},
    Entry{"sensitivity", sensitivity_study},     Entry{"theory", theory_study},
    Entry{"fairness", fairness_study},           Entry{"heterogeneous", heterogeneous_study},
    Entry{"staleness", staleness_study},         Entry{"recurrence", recurrence_study},
    Entry{"utilisation", utilisation_study},
};

constexpr auto names = [] {
  std::array<std::string_view, entries.size()> all;
  std::transform(entries.begin(), entries.end(), all.begin(), [](const Entry& entry) { return entry.name; });
  return all;
}();

}  // namespace

std::span<const std::string_view> study_names() { return names; }

Result<Study> find_study(std::string_view name) {
  const auto* const entry =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
  if (entry != entries.end()) return entry->make();
  std::vector<std::string_view> all(names.begin(), names.end());
  all.insert(all.end(), fleet_experiment_names().begin(), fleet_experiment_names().end());
  all.emplace_back("peers");
  const std::string_view near = nearest_name(name, all);
  return failure(fmt::format("--experiment \"{}\" is not known{}; allowed: {}", name,
                             near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(all, ", ")));
}

}  // namespace evenkeel::simulation
