#include "cli/experiment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "cli/output_file.hpp"
#include "report/progress.hpp"
#include "simulation/fleet_experiment_page.hpp"
#include "simulation/studies.hpp"
#include "simulation/study_page.hpp"

namespace evenkeel::cli {

namespace {

int failed(const Error& error) {
  fmt::print(stderr, "evenkeel simulate: {}\n", error.message);
  return 1;
}

void to_stderr(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stderr);
  std::fflush(stderr);
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

Result<int> run_experiment(const std::string& name, const std::string& directory, simulation::StudyRun run, bool json) {
  const auto study = simulation::find_study(name);
  if (!study) return tl::unexpected(study.error());
  if (auto ok = check_output_directory("--studies-dir", directory); !ok) return tl::unexpected(ok.error());
  const SteadyClock clock;
  const std::uint64_t total = simulation::total_steps(*study, run);
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, name, total);
  run.progress = [&](std::uint64_t steps) { bar.update(std::min(steps, total)); };
  const auto results = simulation::run_study(*study, run);
  if (!results) return failed(results.error());
  bar.finish(total);
  const auto files = simulation::write_study(directory, *study, run, *results);
  if (!files) return failed(files.error());
  if (json) {
    print(simulation::study_json(*study, run, *results, *files));
  } else {
    for (const std::string& file : *files) fmt::print("{}\n", file);
  }
  return 0;
}

Result<int> run_experiment(const simulation::FleetExperiment& experiment, const std::string& directory,
                           simulation::ExperimentRun run, bool json) {
  if (auto ok = check_output_directory("--studies-dir", directory); !ok) return tl::unexpected(ok.error());
  const SteadyClock clock;
  constexpr std::uint64_t whole = 1000;
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, std::string(experiment.name), whole);
  run.share_done = [&](double share) {
    bar.update(std::min(whole, static_cast<std::uint64_t>(share * static_cast<double>(whole))));
  };
  const auto result = simulation::run_fleet_experiment(experiment, run);
  if (!result) return tl::unexpected(result.error());
  bar.finish(whole);
  const auto files = simulation::write_experiment(directory, experiment, run, *result);
  if (!files) return failed(files.error());
  if (json) {
    print(simulation::experiment_json(experiment, run, *result, *files));
  } else {
    for (const simulation::Finding& each : result->findings) {
      fmt::print("{} {}\n", each.holds ? "holds:" : "DOES NOT HOLD:", each.text);
    }
    for (const std::string& file : *files) fmt::print("{}\n", file);
  }
  return result->all_hold() ? 0 : 1;
}

}  // namespace evenkeel::cli
