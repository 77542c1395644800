#include "cli/simulate.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/experiment.hpp"
#include "cli/output_file.hpp"
#include "cli/simulate_flags.hpp"
#include "report/progress.hpp"
#include "routing/policy.hpp"
#include "simulation/batch.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/options.hpp"
#include "simulation/picture.hpp"
#include "simulation/policies.hpp"
#include "simulation/results.hpp"
#include "simulation/studies.hpp"
#include "simulation/words.hpp"

namespace evenkeel::cli {

namespace {

/// CPU time of the whole process.
class CpuClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override {
    timespec at{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return Time(std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec));
  }
};

Result<simulation::BatchOptions> batch_options(const SimulateFlags& flags) {
  simulation::BatchOptions batch;
  const std::int64_t cores = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, 1024);
  const std::int64_t jobs = flags.timing ? 1 : flags.jobs.value_or(cores);
  if (flags.timing && flags.jobs.value_or(1) != 1) {
    return failure("--timing wants --jobs 1: one core, one run at a time");
  }
  batch.seeds = static_cast<std::size_t>(flags.seeds);
  batch.first_seed = static_cast<std::uint64_t>(flags.seed);
  batch.jobs = static_cast<std::size_t>(jobs);
  return batch;
}

void to_stderr(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stderr);
  std::fflush(stderr);
}

Result<std::vector<simulation::Summary>> run_with_progress(const simulation::Setting& setting,
                                                           const std::vector<routing::PolicySpec>& policies,
                                                           simulation::BatchOptions batch) {
  const SteadyClock clock;
  // The warm-up is a little longer than this: the slots must fill first.
  const std::int64_t steps_a_run = setting.steps > 0 ? setting.steps + simulation::warm_up_steps(setting) : 0;
  const std::uint64_t total = static_cast<std::uint64_t>(steps_a_run) * policies.size() * batch.seeds;
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, "simulate", total);
  std::uint64_t done = 0;
  batch.progress = [&](std::uint64_t steps) {
    done = total > 0 ? std::min(steps, total) : steps;
    bar.update(done);
  };
  auto summaries = simulation::run_all(setting, policies, batch);
  if (summaries) bar.finish(total > 0 ? total : done);
  return summaries;
}

/// How often a trace that keeps the pool full was gone through.
void note_rounds(const simulation::Setting& setting, const std::vector<simulation::Summary>& summaries,
                 std::vector<std::string>& notes) {
  if (!setting.lengths.trace || setting.arrivals.kind == simulation::Arrivals::Kind::trace) return;
  const auto size = static_cast<std::int64_t>(setting.lengths.trace->requests.size());
  std::uint64_t most = 0;
  for (const auto& summary : summaries) {
    for (const auto& run : summary.runs) most = std::max(most, run.released);
  }
  notes.push_back(
      fmt::format("the {} of the trace come in their order, up to {:.2g} times over in a run; what one waits for in a "
                  "conversation is not looked at",
                  simulation::counted(size, "request"), static_cast<double>(most) / static_cast<double>(size)));
}

/// What is drawn differs from seed to seed, and of a trace in its own time that is nothing that comes.
void note_equal_seeds(const simulation::Setting& setting, std::size_t seeds, std::vector<std::string>& notes) {
  if (seeds < 2 || setting.arrivals.kind != simulation::Arrivals::Kind::trace) return;
  notes.push_back(
      fmt::format("all {} seeds have the same requests at the same times, those of the trace: they differ in the "
                  "draws of the policies alone, and so do the standard errors",
                  seeds));
}

Result<simulation::ParsedSetting> read_setting(const SimulateFlags& flags) {
  const SteadyClock clock;
  std::optional<report::Progress> bar;
  std::uint64_t done = 0;
  const auto tell = [&](std::uint64_t steps) {
    if (!bar) bar.emplace(clock, to_stderr, isatty(STDERR_FILENO) != 0, "steps to learn their time", 0);
    bar->update(done = steps);
  };
  auto parsed = simulation::parse_setting(flags.options, static_cast<std::uint64_t>(flags.seed), tell);
  if (bar) bar->finish(done);
  return parsed;
}

Result<std::vector<routing::PolicySpec>> read_policies(const std::string& text) {
  auto policies = routing::PolicySpec::parse_list(text);
  if (!policies) return policies;
  for (const auto& policy : *policies) {
    if (auto ok = simulation::check_policy(policy); !ok) return tl::unexpected(ok.error());
  }
  return policies;
}

int failed(const Error& error) {
  fmt::print(stderr, "evenkeel simulate: {}\n", error.message);
  return 1;
}

/// Errors are of usage. What only running shows is told here, with exit code 1.
Result<int> simulate(const SimulateFlags& flags) {
  const auto policies = read_policies(flags.policies);
  if (!policies) return tl::unexpected(policies.error());
  auto batch = batch_options(flags);
  if (!batch) return tl::unexpected(batch.error());
  if (!flags.plot.empty()) {
    if (auto ok = check_output_file("--plot", flags.plot); !ok) return tl::unexpected(ok.error());
  }
  auto parsed = read_setting(flags);
  if (!parsed) return tl::unexpected(parsed.error());
  auto& [setting, notes] = *parsed;
  if (!flags.plot.empty()) setting.trajectory_points = 300;
  const CpuClock cpu;
  if (flags.timing) batch->cpu = &cpu;
  const auto summaries = run_with_progress(setting, *policies, *batch);
  if (!summaries) return failed(summaries.error());
  note_rounds(setting, *summaries, notes);
  note_equal_seeds(setting, batch->seeds, notes);
  const std::string text = flags.json ? simulation::to_json(setting, *summaries, notes)
                                      : simulation::result_table(setting, *summaries, notes);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!flags.plot.empty()) {
    const std::string svg = simulation::comparison_svg(*summaries);
    if (auto written = write_output_file("--plot", flags.plot, svg); !written) return failed(written.error());
  }
  return 0;
}

Result<int> fleet_experiment(const CLI::App& command, const SimulateFlags& flags,
                             const simulation::FleetExperiment& experiment) {
  if (auto ok = only_flags_of_fleet_experiments(command); !ok) return tl::unexpected(ok.error());
  simulation::ExperimentRun run;
  run.seed = static_cast<std::uint64_t>(flags.seed);
  run.trials = flags.trials;
  return run_experiment(experiment, flags.studies_dir, std::move(run), flags.json);
}

Result<int> peers(const CLI::App& command, const SimulateFlags& flags) {
  if (auto ok = only_flags_of_peers(command); !ok) return tl::unexpected(ok.error());
  const bool given = command.count("--policy") > 0;
  return run_peers_experiment(flags.peers, given ? flags.policies : std::string(), flags.seed, flags.json);
}

Result<int> experiment(const CLI::App& command, const SimulateFlags& flags) {
  if (flags.experiment == peers_experiment) return peers(command, flags);
  if (const auto found = simulation::find_fleet_experiment(flags.experiment)) {
    return fleet_experiment(command, flags, *found);
  }
  if (auto ok = only_flags_of_experiments(command); !ok) return tl::unexpected(ok.error());
  const auto batch = batch_options(flags);
  if (!batch) return tl::unexpected(batch.error());
  if (flags.options.steps < 1) return failure("--steps is 0: a study wants 1 and more");
  simulation::StudyRun run;
  run.steps = flags.options.steps;
  run.seeds = batch->seeds;
  run.first_seed = batch->first_seed;
  run.jobs = batch->jobs;
  return run_experiment(flags.experiment, flags.studies_dir, std::move(run), flags.json);
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_code) {
  auto* const command =
      app.add_subcommand("simulate", "run policies in virtual time against the engine model, and compare them");
  const auto flags = std::make_shared<SimulateFlags>();
  add_simulate_flags(*command, *flags);
  command->footer(
      fmt::format("Policies: {}.\nExit codes: 0 fine, 1 a run came to no result or it could not be written, 2 usage."
                  "",
                  fmt::join(routing::policy_names(), ", ")));
  command->callback([command, flags, &exit_code] {
    const bool study = command->count("--experiment") > 0;
    const auto code = study ? experiment(*command, *flags) : simulate(*flags);
    if (!code) fmt::print(stderr, "evenkeel simulate: {}\n", code.error().message);
    exit_code = code.value_or(2);
  });
}

}  // namespace evenkeel::cli
