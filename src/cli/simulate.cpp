#include "cli/simulate.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/presets.hpp"
#include "report/progress.hpp"
#include "simulation/batch.hpp"
#include "simulation/results.hpp"
#include "workload/read_trace.hpp"

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
  std::int64_t workers = 8;
  std::int64_t slots = 32;
  bool sync = false;
  std::string policies = "least_requests";
  std::string prompts = "lognormal:3197:0.81";
  std::string outputs = "lognormal:1185:0.9";
  std::int64_t max_prompt = simulation::default_prompt_cap;
  std::int64_t max_output = simulation::default_output_cap;
  std::string arrivals = "saturated";
  std::optional<double> pool;
  std::optional<std::int64_t> pool_requests;
  std::string overtake_cap = "none";
  std::string binding = "late";
  std::string preset = "paper";
  std::string law;
  std::string speeds;
  std::int64_t stale_steps = 0;
  std::int64_t steps = 140'000;
  std::int64_t requests = 0;
  std::int64_t seeds = 3;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> jobs;
  bool timing = false;
  bool json = false;
};

Result<std::int64_t> within(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return value;
  return failure(fmt::format("{} is {}: allowed are {} to {}", field, value, low, high));
}

Result<simulation::Setting> setting_of(const SimulateFlags& flags) {
  simulation::Setting setting;
  const auto workers = within("workers", flags.workers, 1, 1024);
  if (!workers) return tl::unexpected(workers.error());
  setting.workers = static_cast<std::size_t>(*workers);
  setting.sync = flags.sync;
  const auto engine = engine::preset(flags.preset);
  if (!engine) return failure("step-preset: " + engine.error().message);
  setting.engine = *engine;
  setting.engine.slots = flags.slots;
  setting.engine.kv_capacity = Tokens(std::int64_t{1} << 32);
  const auto prompts = simulation::TokenLaw::parse("prompts", flags.prompts, flags.max_prompt);
  if (!prompts) return tl::unexpected(prompts.error());
  const auto outputs = simulation::TokenLaw::parse("outputs", flags.outputs, flags.max_output);
  if (!outputs) return tl::unexpected(outputs.error());
  setting.lengths.prompts = *prompts;
  setting.lengths.outputs = *outputs;
  const auto parts = split(flags.arrivals, ':');
  if (flags.arrivals == "saturated") {
    setting.arrivals.kind = simulation::Arrivals::Kind::saturated;
    setting.arrivals.pool = flags.pool_requests
                                ? static_cast<std::size_t>(*flags.pool_requests)
                                : static_cast<std::size_t>(flags.pool.value_or(4) * static_cast<double>(*workers));
  } else if (parts[0] == "poisson" && parts.size() == 2 && parse_double(parts[1])) {
    setting.arrivals.kind = simulation::Arrivals::Kind::poisson;
    setting.arrivals.rate_per_s = *parse_double(parts[1]);
  } else {
    return failure(fmt::format("arrivals: \"{}\" is not known; allowed: saturated, poisson:R, trace", flags.arrivals));
  }
  if (flags.overtake_cap != "none") {
    const auto cap = parse_unsigned(flags.overtake_cap);
    if (!cap || *cap < 1 || *cap > 1'000'000) {
      return failure(fmt::format("overtake-cap: \"{}\"; allowed: 1 to 1000000, none", flags.overtake_cap));
    }
    setting.overtake_cap = static_cast<int>(*cap);
  }
  setting.binding = flags.binding == "early" ? simulation::Binding::early : simulation::Binding::late;
  setting.steps = flags.steps;
  setting.arrivals.requests = static_cast<std::uint64_t>(std::max<std::int64_t>(0, flags.requests));
  return setting;
}

Result<int> simulate(const SimulateFlags& flags) {
  const auto setting = setting_of(flags);
  if (!setting) return tl::unexpected(setting.error());
  const auto policies = routing::PolicySpec::parse_list(flags.policies);
  if (!policies) return failure("policy: " + policies.error().message);
  const auto seeds = within("seeds", flags.seeds, 1, 10'000);
  if (!seeds) return tl::unexpected(seeds.error());
  const CpuClock cpu;
  simulation::BatchOptions options;
  options.seeds = static_cast<std::size_t>(*seeds);
  options.first_seed = flags.seed;
  options.jobs = static_cast<std::size_t>(flags.jobs.value_or(std::thread::hardware_concurrency()));
  if (flags.timing) {
    options.jobs = 1;
    options.cpu = &cpu;
  }
  const SteadyClock clock;
  const auto to_stderr = [](std::string_view bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    std::fflush(stderr);
  };
  const std::uint64_t total = static_cast<std::uint64_t>(flags.steps) * policies->size() * options.seeds;
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, "simulate", total);
  std::uint64_t done = 0;
  options.progress = [&](std::uint64_t steps) {
    done = steps;
    bar.update(steps);
  };
  const auto summaries = simulation::run_all(*setting, *policies, options);
  if (!summaries) return tl::unexpected(summaries.error());
  bar.finish(done);
  const std::string text =
      flags.json ? simulation::to_json(*setting, *summaries, {}) : simulation::result_table(*setting, *summaries);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = app.add_subcommand("simulate", "Run policies in virtual time against the engine model");
  command->add_option("--workers", flags->workers, "Workers")->capture_default_str();
  command->add_option("--slots", flags->slots, "Slots a worker")->capture_default_str();
  command->add_flag("--sync", flags->sync, "The workers share each step");
  command->add_option("--policy", flags->policies, "Policies, parameters in brackets")->capture_default_str();
  command->add_option("--prompts", flags->prompts, "Law of prompt tokens")->capture_default_str();
  command->add_option("--outputs", flags->outputs, "Law of output tokens")->capture_default_str();
  command->add_option("--arrivals", flags->arrivals, "saturated, poisson:R or trace")->capture_default_str();
  command->add_option("--pool", flags->pool, "Waiting requests a worker, kept full");
  command->add_option("--pool-requests", flags->pool_requests, "Waiting requests in all, kept full");
  command->add_option("--overtake-cap", flags->overtake_cap, "N or none")->capture_default_str();
  command->add_option("--binding", flags->binding, "late or early")->check(CLI::IsMember({"late", "early"}));
  command->add_option("--step-preset", flags->preset, "A known engine")->capture_default_str();
  command->add_option("--steps", flags->steps, "Steps measured")->capture_default_str();
  command->add_option("--requests", flags->requests, "Requests in all");
  command->add_option("--seeds", flags->seeds, "Seeds")->capture_default_str();
  command->add_option("--seed", flags->seed, "The first seed")->capture_default_str();
  command->add_option("--jobs", flags->jobs, "Threads");
  command->add_flag("--timing", flags->timing, "Time decisions");
  command->add_flag("--json", flags->json, "JSON");
  command->callback([flags, &exit_code] {
    const auto code = simulate(*flags);
    if (!code) fmt::print(stderr, "evenkeel simulate: {}\n", code.error().message);
    exit_code = code.value_or(2);
  });
}

}  // namespace evenkeel::cli
