#include "simulation/fleet_experiment.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "report/numbers.hpp"
#include "simulation/bounds.hpp"

namespace evenkeel::simulation {

namespace {

struct Entry {
  std::string_view name;
  FleetExperiment (*make)();
};
constexpr std::array entries = {
    Entry{"herding", herding_experiment},         Entry{"headroom-staleness", headroom_staleness_experiment},
    Entry{"placement", placement_experiment},     Entry{"partition", partition_experiment},
    Entry{"population", population_experiment},   Entry{"composition", composition_experiment},
    Entry{"reserve", reserve_experiment},         Entry{"mixed-models", mixed_models_experiment},
    Entry{"single-task", single_task_experiment}, Entry{"refusals", refusals_experiment},
};

constexpr auto names = [] {
  std::array<std::string_view, entries.size()> all;
  std::transform(entries.begin(), entries.end(), all.begin(), [](const Entry& entry) { return entry.name; });
  return all;
}();

}  // namespace

Cell words(std::string text) { return {std::move(text), {}}; }

Cell number(double value, int decimals) { return {report::fixed(value, decimals), value}; }

Cell number_with_error(double value, double error, int decimals) {
  return {fmt::format("{} ±{}", report::fixed(value, decimals), report::fixed(error, decimals)), value};
}

bool ExperimentResult::all_hold() const {
  return std::all_of(findings.begin(), findings.end(), [](const Finding& each) { return each.holds; });
}

std::optional<double> ExperimentResult::figure(std::string_view key) const {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const Figure& each) { return each.key == key; });
  if (found == figures.end()) return {};
  return found->value;
}

std::span<const std::string_view> fleet_experiment_names() { return names; }

std::optional<FleetExperiment> find_fleet_experiment(std::string_view name) {
  const auto* const entry =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& each) { return each.name == name; });
  if (entry == entries.end()) return {};
  return entry->make();
}

Result<ExperimentResult> run_fleet_experiment(const FleetExperiment& experiment, ExperimentRun run) {
  if (run.trials == 0) run.trials = experiment.trials;
  if (auto ok = bounds::trials.check("--trials", run.trials); !ok) return tl::unexpected(ok.error());
  return experiment.run(run);
}

}  // namespace evenkeel::simulation
