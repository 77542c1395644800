#include "cli/simulate_flags.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/flag_values.hpp"
#include "simulation/bounds.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/studies.hpp"

namespace evenkeel::cli {

namespace {

namespace bounds = simulation::bounds;

/// The flags under one heading of --help.
class Group {
 public:
  Group(CLI::App& command, const char* heading) : command_(command), heading_(heading) {}

  CLI::Option* flag(const char* name, bool& into, const std::string& help) const {
    return command_.add_flag(name, into, help)->group(heading_);
  }
  CLI::Option* words(const char* name, std::string& into, const std::string& help) const {
    return command_.add_option(name, into, help)->check(text())->group(heading_);
  }
  template <class Into>
  CLI::Option* whole(const char* name, Into& into, simulation::Whole allowed, const std::string& help) const {
    return command_.add_option(name, into, help)->check(cli::whole(allowed))->group(heading_);
  }
  template <class Into>
  CLI::Option* real(const char* name, Into& into, simulation::Real allowed, const std::string& help) const {
    return command_.add_option(name, into, help)->check(cli::real(allowed))->group(heading_);
  }

 private:
  CLI::App& command_;
  const char* heading_;
};

void add_fleet_flags(CLI::App& command, simulation::Options& options) {
  const Group fleet(command, "Fleet");
  fleet.whole("--workers", options.workers, bounds::workers, "workers")->capture_default_str();
  fleet.whole("--slots", options.slots, bounds::slots, "requests a worker serves at once")->capture_default_str();
  fleet.flag("--sync", options.sync, "the workers share each step: it lasts as long as the longest of them");
  auto* const preset =
      fleet.words("--step-preset", options.step_preset, "a known engine, see docs/emulator.md")->capture_default_str();
  fleet.words("--law", options.law, "FIXED_MS:TOKEN_US of a decode step, prompts given, in place of a preset")
      ->excludes(preset);
  fleet.words("--speeds", options.speeds, "S1,S2,...: by worker; those not named have 1");
  fleet.whole("--kv-tokens", options.kv_tokens, bounds::kv_tokens,
              "KV tokens a worker holds; default: without end if prompts come with their KV, else the preset's");
  fleet.flag("--prefix-cache", options.prefix_cache, "the engines keep what was computed; needs a preset with prefill");
  fleet.whole("--kv-block", options.kv_block, bounds::kv_block, "tokens a KV block; default 16");
  fleet
      .whole("--decode-growth", options.decode_growth, bounds::decode_growth,
             "speculative decoding: 1 to so many tokens a step")
      ->capture_default_str();
}

void add_workload_flags(CLI::App& command, simulation::Options& options) {
  const Group workload(command, "Workload");
  workload.words("--prompts", options.prompts, "fixed:N, uniform:A:B, lognormal:MEAN:CV[:CAP] or geometric:P")
      ->capture_default_str();
  workload.words("--outputs", options.outputs, "as --prompts")->capture_default_str();
  workload.whole("--max-prompt", options.max_prompt, bounds::longest, "no prompt is longer")->capture_default_str();
  workload.whole("--max-output", options.max_output, bounds::longest, "no output is longer")->capture_default_str();
  workload.words("--classes", options.classes, "N[:SPREAD]: recurrent prompts, each with its own lengths");
  workload.words("--prefixes", options.prefixes,
                 "N:TOKENS[:HOT]: prompts begin with one of N texts, the first HOT times as often");
  workload.words("--arrivals", options.arrivals, "saturated (default), poisson:R a second, or trace");
  workload.real("--utilisation", options.utilisation, bounds::utilisation, "of the slots, in place of a rate");
  workload.real("--pool", options.pool, bounds::pool, "waiting requests a worker that are kept, saturated; default 4");
  workload.whole("--pool-requests", options.pool_requests, bounds::waiting, "the same, of all workers together");
  workload.whole("--max-waiting", options.max_waiting, bounds::waiting,
                 fmt::format("of arrivals that are not saturated: the run ends when more wait; default {}",
                             simulation::default_most_waiting));
  workload.whole("--requests", options.requests, bounds::requests, "how many in all; 0: no end")->capture_default_str();
}

void add_trace_flags(CLI::App& command, workload::TraceSpec& spec) {
  const Group group(command, "Trace");
  auto& slice = spec.slice;
  auto* const trace =
      group.words("--trace", spec.path, "file (plain or .gz) whose requests are used in place of the laws");
  for (const char* const law : {"--prompts", "--outputs", "--classes", "--prefixes"})
    trace->excludes(command.get_option(law));
  for (CLI::Option* const of_trace : {
           group.words("--format", spec.format, "name of its format; default: told from the first line"),
           group.real("--trace-rate", spec.rate, bounds::rate_per_s, "requests a second, for formats that take it"),
           group.real("--trace-session-rate", spec.session_rate, bounds::rate_per_s,
                      "conversations that start, a second"),
           group.real("--time-scale", slice.time_scale, bounds::time_scale, "trace seconds a second")
               ->capture_default_str(),
           group.real("--from", slice.from_s, bounds::seconds, "seconds into the trace"),
           group.real("--to", slice.to_s, bounds::seconds, "seconds into the trace"),
           group.whole("--max-requests", slice.max_requests, bounds::requests_of_trace, "the first so many"),
           group.whole("--output-from", slice.output_from, bounds::least_output,
                       "only requests with at least so many output tokens"),
           group.whole("--prompt-cap", slice.cap_prompt, bounds::longest, "cuts longer prompts"),
           group.whole("--output-cap", slice.cap_output, bounds::longest, "cuts longer outputs"),
       }) {
    of_trace->needs(trace);
  }
}

void add_routing_flags(CLI::App& command, SimulateFlags& flags) {
  const Group routing(command, "Routing");
  auto& options = flags.options;
  routing.words("--policy", flags.policies, "policies, by commas; parameters in brackets: br0[window=8]")
      ->capture_default_str();
  routing
      .words("--binding", options.binding,
             "late: a request waits for an open slot; early: it gets its worker on release and queues there")
      ->check(one_of({"late", "early"}))
      ->capture_default_str();
  routing
      .words("--stepping", options.stepping,
             "ideal: decisions between two steps, nothing in between; live: as the router in service makes them")
      ->check(one_of({"ideal", "live"}))
      ->capture_default_str();
  routing
      .words("--overtake-cap", options.overtake_cap,
             "later releases that may enter before one; none or 0: no cap but a policy's own")
      ->capture_default_str();
  routing
      .words("--redline", options.redline,
             "which workers have memory left for a request, under every policy: off, on, or with one published line")
      ->capture_default_str();
  routing
      .real("--redline-level", options.redline_level, bounds::redline_level,
            "probability with which a worker's residents stay within its memory")
      ->capture_default_str();
  routing
      .real("--prompt-weight", options.prompt_weight, bounds::prompt_weight,
            "what a prompt token to be computed counts, in output tokens")
      ->capture_default_str();
  routing.whole("--stale-steps", options.stale_steps, bounds::stale_steps, "policies see loads of so many steps ago")
      ->capture_default_str();
  routing
      .whole("--plan-window", options.plan_window, bounds::plan_window,
             "waiting requests a plan looks at; 0: all that are kept waiting, at least 128")
      ->capture_default_str();
}

void add_run_flags(CLI::App& command, SimulateFlags& flags) {
  const Group run(command, "Run");
  run.whole("--steps", flags.options.steps, bounds::steps,
            "steps measured, after a warm-up; 0: all requests to their end")
      ->capture_default_str();
  run.whole("--seeds", flags.seeds, bounds::seeds, "runs of each policy, each with requests of its own")
      ->capture_default_str();
  run.whole("--seed", flags.seed, bounds::seed, "the first seed")->capture_default_str();
  run.whole("--jobs", flags.jobs, bounds::jobs, "threads; the results do not depend on it; default: all cores");
  run.flag("--timing", flags.timing, "times the decisions by CPU clock, one run at a time");
  run.flag("--json", flags.json, "one JSON object on stdout instead of a table");
  run.words("--plot", flags.plot, "writes an SVG: loads of the workers, bars");
}

void add_experiment_flags(CLI::App& command, SimulateFlags& flags) {
  const Group studies(command, "Studies");
  auto* const experiment = studies.words(
      "--experiment", flags.experiment,
      fmt::format(
          "a named study, which writes a page and a picture: {}, {}; or {}: bursts on boxes that lend each other "
          "capacity",
          fmt::join(simulation::study_names(), ", "), fmt::join(simulation::fleet_experiment_names(), ", "),
          peers_experiment));
  studies
      .whole("--trials", flags.trials, bounds::trials,
             fmt::format("of an experiment with a fleet's memory: {}; default: its own number",
                         fmt::join(simulation::fleet_experiment_names(), ", ")))
      ->needs(experiment);
  studies.words("--studies-dir", flags.studies_dir, "where to")->needs(experiment)->capture_default_str();
}

Result<void> only_flags(const CLI::App& command, std::span<const std::string_view> allowed) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name(false, true).substr(2);
    if (option->count() == 0 || name == "experiment" || std::ranges::find(allowed, name) != allowed.end()) continue;
    return failure(
        fmt::format("--experiment sets --{} by itself; allowed beside it: --{}", name, fmt::join(allowed, ", --")));
  }
  return {};
}

}  // namespace

void add_simulate_flags(CLI::App& command, SimulateFlags& flags) {
  add_fleet_flags(command, flags.options);
  add_workload_flags(command, flags.options);
  add_trace_flags(command, flags.options.trace);
  add_routing_flags(command, flags);
  add_run_flags(command, flags);
  add_experiment_flags(command, flags);
  add_peers_flags(command, flags.peers);
}

Result<void> only_flags_of_experiments(const CLI::App& command) {
  constexpr std::array<std::string_view, 6> allowed = {"studies-dir", "steps", "seeds", "seed", "jobs", "json"};
  return only_flags(command, allowed);
}

Result<void> only_flags_of_peers(const CLI::App& command) {
  constexpr std::array<std::string_view, 17> allowed = {"boxes",
                                                        "burst",
                                                        "tokens",
                                                        "rounds",
                                                        "policy",
                                                        "rates",
                                                        "warm-up",
                                                        "exchange",
                                                        "entry",
                                                        "gap-ms",
                                                        "spacing-ms",
                                                        "start-ms",
                                                        "probe-round-trip-ms",
                                                        "forward-delay-ms",
                                                        "gauge-lag-ms",
                                                        "seed",
                                                        "json"};
  return only_flags(command, allowed);
}

Result<void> only_flags_of_fleet_experiments(const CLI::App& command) {
  constexpr std::array<std::string_view, 4> allowed = {"studies-dir", "trials", "seed", "json"};
  return only_flags(command, allowed);
}

}  // namespace evenkeel::cli
