#include "cli/plan_source.hpp"

#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/flag_values.hpp"
#include "config/plan_file.hpp"
#include "config/text_file.hpp"
#include "planning/level.hpp"

namespace evenkeel::cli {

namespace {

constexpr simulation::Real gigabytes{1e-6, 1e6};
constexpr simulation::Real seconds{1e-3, 1e6};

planning::FleetPlan specimen_plan(const PlanSource& flags) {
  const double tokens = flags.prompt_tokens.value_or(planning::splitwise_70b_prompt_tokens);
  const double of_tokens = tokens * planning::splitwise_70b_bytes_per_token / 1e9;
  return planning::splitwise_70b(flags.nodes.value_or(32), flags.prompt_gb.value_or(of_tokens));
}

Result<planning::FleetPlan> file_plan(const PlanSource& flags) {
  const auto text = config::read_text_file("--fleet", flags.fleet);
  if (!text) return tl::unexpected(text.error());
  auto plan = config::read_plan(*text, flags.fleet);
  if (!plan || !flags.nodes) return plan;
  if (plan->groups.size() > 1) {
    return failure(fmt::format("--nodes: {} has {} groups, each with its own nodes", flags.fleet, plan->groups.size()));
  }
  plan->groups[0].nodes = *flags.nodes;
  return plan;
}

/// Warnings of the fit go to standard error: what is printed is the plan's.
Result<planning::FleetPlan> fitted_plan(const PlanSource& flags) {
  if (!flags.capacity_gb) return failure("--from tells no capacity: give --capacity-gb, KV memory of a worker");
  FitSource source = flags.fit;
  if (flags.scale_time_s) source.options.window_s = *flags.scale_time_s;
  source.options.nodes = static_cast<std::uint32_t>(flags.nodes.value_or(0));
  const auto read = source.read();
  if (!read) return tl::unexpected(read.error());
  for (const auto& note : read->notes) fmt::print(stderr, "note: {}\n", note);
  for (const auto& warning : read->fit.warnings) fmt::print(stderr, "warning: {}\n", warning);
  if (read->fit.arrivals.nodes == 0) return failure("--from names no workers: give --nodes");
  auto plan = planning::plan_of(read->fit, read->fit.arrivals.nodes, *flags.capacity_gb);
  if (!plan) return failure("--from: " + plan.error().message);
  return plan;
}

Result<planning::FleetPlan> base_plan(const PlanSource& flags) {
  if (!flags.fleet.empty()) return file_plan(flags);
  if (!flags.fit.spec.path.empty()) return fitted_plan(flags);
  if (!flags.specimen.empty()) return specimen_plan(flags);
  return failure("nothing to plan for: give --fleet, --from or --specimen");
}

/// The message of a checked text, as CLI11 shows it after the flag's name.
template <class Parse>
CLI::Validator parsed_by(Parse parse) {
  return CLI::Validator(
      [parse](std::string& given) {
        const auto value = parse(given);
        return value ? std::string() : value.error().message;
      },
      "");
}

/// Steps FROM_S:FACTOR; whether they make a profile is the plan's to say.
Result<std::vector<planning::RateStep>> profile_of(std::string_view text) {
  std::vector<planning::RateStep> profile;
  for (const std::string_view step : split(text, ',')) {
    const auto parts = split(step, ':');
    const auto from = parse_double(trim(parts[0]));
    const auto factor = parts.size() == 2 ? parse_double(trim(parts[1])) : std::nullopt;
    if (!from || !factor) return failure(fmt::format("\"{}\"; allowed: FROM_S:FACTOR, several with commas", text));
    profile.push_back({*from, *factor});
  }
  return profile;
}

Result<double> read_level(const PlanSource& flags, double window_s, double otherwise) {
  if (flags.level) return planning::level_of_text(*flags.level);
  if (flags.cost_ratio) return planning::level_of_cost_ratio(*flags.cost_ratio);
  if (flags.breaches_per_month) {
    auto level = planning::level_of_breaches_per_month(*flags.breaches_per_month, window_s);
    return level ? level : failure("--breaches-per-month: " + level.error().message);
  }
  return otherwise;
}

}  // namespace

void PlanSource::add_to(CLI::App& command) {
  auto* const specimen_flag =
      command.add_option("--specimen", specimen, fmt::format("a published fleet: {}", planning::splitwise_70b_name))
          ->check(one_of({std::string(planning::splitwise_70b_name)}));
  auto* const fleet_flag =
      command.add_option("--fleet", fleet, "a fleet of your own: a TOML file")->check(text())->excludes(specimen_flag);
  auto* const from_flag =
      command
          .add_option("--from", fit.spec.path, "access log or any other trace: the fleet that `plan fit` tells of it")
          ->check(text())
          ->excludes(specimen_flag)
          ->excludes(fleet_flag);
  fit.add_to(command, "--from");
  command.add_option("--capacity-gb", capacity_gb, "with --from: KV memory of a worker, GB of 1e9 bytes")
      ->check(real(gigabytes))
      ->needs(from_flag);
  command
      .add_option("--nodes", nodes,
                  "workers of the specimen (default 32), of the file's only group, or behind a log or trace")
      ->check(whole({1, 100'000}));
  auto* const gb = command.add_option("--prompt-gb", prompt_gb, "what a prompt holds at admission, GB of 1e9 bytes")
                       ->check(real(gigabytes))
                       ->needs(specimen_flag);
  command.add_option("--prompt-tokens", prompt_tokens, "the same in tokens (default 1020)")
      ->check(real({1, 1e9}))
      ->needs(specimen_flag)
      ->excludes(gb);
  auto* const level_flag = command.add_option(
      "--level", level, "probability that the reserve suffices for one window: 0.97, 32/33 (default 32/33)");
  level_flag->check(parsed_by(planning::level_of_text));
  auto* const ratio_flag =
      command.add_option("--cost-ratio", cost_ratio, "the same by costs UNDER:OVER of a unit short and idle: 32:1");
  ratio_flag->check(parsed_by(planning::level_of_cost_ratio));
  command
      .add_option("--breaches-per-month", breaches_per_month, "the same by windows a month that it does not suffice")
      ->check(real({1e-6, 1e9}))
      ->excludes(level_flag)
      ->excludes(ratio_flag);
  ratio_flag->excludes(level_flag);
  command.add_option("--scale-time", scale_time_s, "s from the decision to scale to live capacity (default 90)")
      ->check(real(seconds));
  command.add_option("--staleness", staleness_s, "s that the router's view of the fleet may be old (default 0)")
      ->check(real({0, seconds.high}));
  command
      .add_option("--correlated-share", correlated_share,
                  "share of the pressed windows in which the whole fleet is pressed (default 1)")
      ->check(real({0, 1}));
  command.add_option("--correlation", correlation, "of the arrivals of two workers in one window (default 0)")
      ->check(real({0, 0.999999}));
  command.add_option("--profile", profile, "rates within the window, FROM_S:FACTOR with commas: 0:1,30:6")
      ->check(parsed_by(profile_of));
  command.add_option("--surge", surge, "all rates times this")->check(real({1e-6, 1e6}))->capture_default_str();
  command.add_option("--evaluator", evaluator, "automatic, recursion, transform; expansion is fast and not exact")
      ->check(one_of({"automatic", "recursion", "transform", "expansion"}))
      ->capture_default_str();
  command.add_flag("--json", json, "one JSON object");
}

Result<planning::FleetPlan> PlanSource::read() const {
  auto plan = base_plan(*this);
  if (!plan) return plan;
  if (scale_time_s) plan->scale_time_s = *scale_time_s;
  if (staleness_s) plan->staleness_s = *staleness_s;
  if (correlated_share) plan->correlated_share = *correlated_share;
  if (correlation) plan->correlation = *correlation;
  if (profile) {
    auto steps = profile_of(*profile);
    if (!steps) return tl::unexpected(steps.error());
    plan->profile = std::move(*steps);
  }
  *plan = planning::with_rates_times(std::move(*plan), surge);
  const auto wanted = read_level(*this, plan->scale_time_s, plan->level);
  if (!wanted) return tl::unexpected(wanted.error());
  plan->level = *wanted;
  if (auto ok = plan->check(); !ok) return tl::unexpected(ok.error());
  const double window_s = plan->scale_time_s + plan->staleness_s;
  if (!plan->profile.empty() && plan->profile.back().from_s >= window_s) {
    return failure(
        fmt::format("{}the step of the profile at {} s has no effect: the window ends at {} s (scale time and "
                    "staleness)",
                    profile ? "--profile: " : "", plan->profile.back().from_s, window_s));
  }
  return plan;
}

}  // namespace evenkeel::cli
