#include "cli/simulate.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
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
#include "report/progress.hpp"
#include "routing/policy.hpp"
#include "simulation/batch.hpp"
#include "simulation/options.hpp"
#include "simulation/picture.hpp"
#include "simulation/policies.hpp"
#include "simulation/results.hpp"
#include "simulation/studies.hpp"

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

struct SimulateFlags {
  simulation::Options options;
  std::string policies = "least_requests";
  std::int64_t seeds = 3;
  std::int64_t seed = 1;
  std::optional<std::int64_t> jobs;
  bool timing = false;
  bool json = false;
  std::string plot;
  std::string experiment;
  std::string studies_dir = "docs/studies";
};

Result<simulation::BatchOptions> batch_options(const SimulateFlags& flags) {
  simulation::BatchOptions batch;
  if (flags.seeds < 1 || flags.seeds > 10'000) {
    return failure(fmt::format("seeds is {}: allowed are 1 to 10000", flags.seeds));
  }
  if (flags.seed < 1) return failure(fmt::format("seed is {}: allowed are 1 and more", flags.seed));
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t jobs = flags.timing ? 1 : flags.jobs.value_or(cores);
  if (jobs < 1 || jobs > 1024) return failure(fmt::format("jobs is {}: allowed are 1 to 1024", jobs));
  if (flags.timing && flags.jobs.value_or(1) != 1) return failure("timing wants jobs 1: one core, one run at a time");
  batch.seeds = static_cast<std::size_t>(flags.seeds);
  batch.first_seed = static_cast<std::uint64_t>(flags.seed);
  batch.jobs = static_cast<std::size_t>(jobs);
  return batch;
}

Result<std::vector<simulation::Summary>> run_with_progress(const simulation::Setting& setting,
                                                           const std::vector<routing::PolicySpec>& policies,
                                                           simulation::BatchOptions batch) {
  const SteadyClock clock;
  const auto to_stderr = [](std::string_view bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    std::fflush(stderr);
  };
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

Result<void> write_plot(const std::string& path, const std::vector<simulation::Summary>& summaries) {
  std::ofstream file(path, std::ios::binary);
  file << simulation::comparison_svg(summaries);
  file.close();
  if (!file) return failure(fmt::format("plot: cannot write {}", path));
  return {};
}

/// How often a trace that keeps the pool full was gone through.
void note_rounds(const simulation::Setting& setting, const std::vector<simulation::Summary>& summaries,
                 std::vector<std::string>& notes) {
  if (!setting.lengths.trace || setting.arrivals.kind == simulation::Arrivals::Kind::trace) return;
  const auto size = static_cast<double>(setting.lengths.trace->requests.size());
  std::uint64_t most = 0;
  for (const auto& summary : summaries) {
    for (const auto& run : summary.runs) most = std::max(most, run.released);
  }
  notes.push_back(
      fmt::format("the trace's {:.0f} requests come in their order, up to {:.2g} times over in a run; what "
                  "one waits for in a conversation is not looked at",
                  size, static_cast<double>(most) / size));
}

Result<int> simulate(const SimulateFlags& flags) {
  const auto policies = routing::PolicySpec::parse_list(flags.policies);
  if (!policies) return failure("policy: " + policies.error().message);
  for (const auto& policy : *policies) {
    if (auto ok = simulation::check_policy(policy); !ok) return tl::unexpected(ok.error());
  }
  auto batch = batch_options(flags);
  if (!batch) return tl::unexpected(batch.error());
  auto parsed = simulation::parse_setting(flags.options, batch->first_seed);
  if (!parsed) return tl::unexpected(parsed.error());
  auto& [setting, notes] = *parsed;
  if (!flags.plot.empty()) setting.trajectory_points = 300;
  const CpuClock cpu;
  if (flags.timing) batch->cpu = &cpu;
  const auto summaries = run_with_progress(setting, *policies, *batch);
  if (!summaries) return tl::unexpected(summaries.error());
  note_rounds(setting, *summaries, notes);
  const std::string text = flags.json ? simulation::to_json(setting, *summaries, notes)
                                      : simulation::result_table(setting, *summaries, notes);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!flags.plot.empty()) {
    if (auto written = write_plot(flags.plot, *summaries); !written) return tl::unexpected(written.error());
  }
  return 0;
}

/// A study has its settings by itself: what would be ignored is refused.
Result<void> only_of_experiments(const CLI::App& command) {
  constexpr std::array<std::string_view, 7> allowed = {"experiment", "studies-dir", "steps", "seeds",
                                                       "seed",       "jobs",        "json"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name(false, true).substr(2);
    if (option->count() == 0 || std::ranges::find(allowed, name) != allowed.end()) continue;
    return failure(fmt::format("experiment: it sets {} by itself; allowed beside it: {}", name,
                               fmt::join(allowed.begin() + 1, allowed.end(), ", ")));
  }
  return {};
}

Result<int> experiment(const CLI::App& command, const SimulateFlags& flags) {
  if (auto ok = only_of_experiments(command); !ok) return tl::unexpected(ok.error());
  const auto batch = batch_options(flags);
  if (!batch) return tl::unexpected(batch.error());
  simulation::StudyRun run;
  run.steps = flags.options.steps;
  run.seeds = batch->seeds;
  run.first_seed = batch->first_seed;
  run.jobs = batch->jobs;
  return run_experiment(flags.experiment, flags.studies_dir, std::move(run), flags.json);
}

// --- flags ---------------------------------------------------------------------------------------------------

void add_fleet_flags(CLI::App& command, simulation::Options& options) {
  constexpr auto group = "Fleet";
  command.add_option("--workers", options.workers, "workers")->group(group)->capture_default_str();
  command.add_option("--slots", options.slots, "requests a worker serves at once")->group(group)->capture_default_str();
  command.add_flag("--sync", options.sync, "the workers share each step: it lasts as long as the longest of them")
      ->group(group);
  auto* const preset = command.add_option("--step-preset", options.step_preset, "a known engine, see docs/emulator.md")
                           ->group(group)
                           ->capture_default_str();
  command.add_option("--law", options.law, "FIXED_MS:TOKEN_US of a decode step, prompts given, in place of a preset")
      ->excludes(preset)
      ->group(group);
  command.add_option("--speeds", options.speeds, "S1,S2,...: by worker; those not named have 1")->group(group);
  command
      .add_option("--kv-tokens", options.kv_tokens,
                  "KV tokens a worker holds; default: without end if prompts come "
                  "with their KV, else the preset's")
      ->group(group);
  command.add_option("--decode-growth", options.decode_growth, "speculative decoding: 1 to so many tokens a step")
      ->group(group)
      ->capture_default_str();
}

void add_workload_flags(CLI::App& command, simulation::Options& options) {
  constexpr auto group = "Workload";
  command.add_option("--prompts", options.prompts, "fixed:N, uniform:A:B, lognormal:MEAN:CV[:CAP] or geometric:P")
      ->group(group)
      ->capture_default_str();
  command.add_option("--outputs", options.outputs, "as --prompts")->group(group)->capture_default_str();
  command.add_option("--max-prompt", options.max_prompt, "no prompt is longer")->group(group)->capture_default_str();
  command.add_option("--max-output", options.max_output, "no output is longer")->group(group)->capture_default_str();
  command.add_option("--classes", options.classes, "N[:SPREAD]: recurrent prompts, each with its own lengths")
      ->group(group);
  command.add_option("--arrivals", options.arrivals, "saturated (default), poisson:R a second, or trace")->group(group);
  command.add_option("--utilisation", options.utilisation, "of the slots, in place of a rate; 0.01 to 2")->group(group);
  command.add_option("--pool", options.pool, "waiting requests a worker that are kept, saturated; default 4")
      ->group(group);
  command.add_option("--pool-requests", options.pool_requests, "the same, of all workers together")->group(group);
  command.add_option("--requests", options.requests, "how many in all; 0: no end")->group(group)->capture_default_str();
}

void add_trace_flags(CLI::App& command, workload::TraceSpec& spec) {
  constexpr auto group = "Trace";
  auto& slice = spec.slice;
  command.add_option("--trace", spec.path, "file (plain or .gz) whose requests are used in place of the laws")
      ->group(group);
  command.add_option("--format", spec.format, "name of its format; default: told from the first line")->group(group);
  command.add_option("--trace-rate", spec.rate, "requests a second, for formats that take it")->group(group);
  command.add_option("--trace-session-rate", spec.session_rate, "conversations that start, a second")->group(group);
  command.add_option("--time-scale", slice.time_scale, "trace seconds a second")->group(group)->capture_default_str();
  command.add_option("--from", slice.from_s, "seconds into the trace")->group(group);
  command.add_option("--to", slice.to_s, "seconds into the trace")->group(group);
  command.add_option("--max-requests", slice.max_requests, "the first so many")->group(group);
  command.add_option("--output-from", slice.output_from, "only requests with at least so many output tokens")
      ->group(group);
  command.add_option("--prompt-cap", slice.cap_prompt, "cuts longer prompts")->group(group);
  command.add_option("--output-cap", slice.cap_output, "cuts longer outputs")->group(group);
}

void add_routing_flags(CLI::App& command, SimulateFlags& flags) {
  constexpr auto group = "Routing";
  auto& options = flags.options;
  command.add_option("--policy", flags.policies, "policies, by commas; parameters in brackets: br0[window=8]")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--binding", options.binding,
                  "late: a request waits for an open slot; early: it gets its worker "
                  "on release and queues there")
      ->check(CLI::IsMember({"late", "early"}))
      ->group(group)
      ->capture_default_str();
  command.add_option("--overtake-cap", options.overtake_cap, "later releases that may enter before one, or none")
      ->group(group)
      ->capture_default_str();
  command.add_option("--stale-steps", options.stale_steps, "policies see loads of so many steps ago")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--plan-window", options.plan_window,
                  "waiting requests a plan looks at; 0: all that are kept "
                  "waiting, at least 128")
      ->group(group)
      ->capture_default_str();
}

void add_run_flags(CLI::App& command, SimulateFlags& flags) {
  constexpr auto group = "Run";
  command.add_option("--steps", flags.options.steps, "steps measured, after a warm-up; 0: all requests to their end")
      ->group(group)
      ->capture_default_str();
  command.add_option("--seeds", flags.seeds, "runs of each policy, each with requests of its own")
      ->group(group)
      ->capture_default_str();
  command.add_option("--seed", flags.seed, "the first seed")->group(group)->capture_default_str();
  command.add_option("--jobs", flags.jobs, "threads; the results do not depend on it; default: all cores")
      ->group(group);
  command.add_flag("--timing", flags.timing, "times the decisions by CPU clock, one run at a time")->group(group);
  command.add_flag("--json", flags.json, "one JSON object on stdout instead of a table")->group(group);
  command.add_option("--plot", flags.plot, "writes an SVG: loads of the workers, bars")->group(group);
}

void add_experiment_flags(CLI::App& command, SimulateFlags& flags) {
  constexpr auto group = "Studies";
  command
      .add_option("--experiment", flags.experiment,
                  fmt::format("a named study, which writes a page and a picture: {}",
                              fmt::join(simulation::study_names(), ", ")))
      ->group(group);
  command.add_option("--studies-dir", flags.studies_dir, "where to")->group(group)->capture_default_str();
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_code) {
  auto* const command =
      app.add_subcommand("simulate", "run policies in virtual time against the engine model, and compare them");
  const auto flags = std::make_shared<SimulateFlags>();
  add_fleet_flags(*command, flags->options);
  add_workload_flags(*command, flags->options);
  add_trace_flags(*command, flags->options.trace);
  add_routing_flags(*command, *flags);
  add_run_flags(*command, *flags);
  add_experiment_flags(*command, *flags);
  command->footer(fmt::format("Policies: {}.\nExit codes: 0 fine, 2 usage.", fmt::join(routing::policy_names(), ", ")));
  command->callback([command, flags, &exit_code] {
    const bool study = command->count("--experiment") > 0;
    const auto code = study ? experiment(*command, *flags) : simulate(*flags);
    if (!code) fmt::print(stderr, "evenkeel simulate: {}\n", code.error().message);
    exit_code = code.value_or(2);
  });
}

}  // namespace evenkeel::cli
