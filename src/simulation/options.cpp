#include "simulation/options.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/presets.hpp"
#include "simulation/run.hpp"

namespace evenkeel::simulation {

namespace {

using Kind = Arrivals::Kind;

template <class Number>
Result<void> within(std::string_view option, Number value, Number low, Number high) {
  if (value >= low && value <= high) return {};
  return failure(fmt::format("{} is {}: allowed are {} to {}", option, value, low, high));
}

Result<engine::StepLaw> parse_law(std::string_view text) {
  const auto parts = split(text, ':');
  const auto fixed_ms = parts.size() == 2 ? parse_double(parts[0]) : std::nullopt;
  const auto token_us = parts.size() == 2 ? parse_double(parts[1]) : std::nullopt;
  if (!fixed_ms || !token_us) return failure(fmt::format("law: \"{}\"; allowed: FIXED_MS:TOKEN_US, as 70:0.2", text));
  engine::StepLaw law;
  law.fixed_ms = *fixed_ms;
  law.kv_token_ms = *token_us * 1e-3;
  law.prompt_kv_given = true;
  return law;
}

Result<void> parse_engine(const Options& options, Setting& setting) {
  if (auto ok = within<std::int64_t>("workers", options.workers, 1, 1024); !ok) return ok;
  if (auto ok = within<std::int64_t>("slots", options.slots, 1, 65536); !ok) return ok;
  setting.workers = static_cast<std::size_t>(options.workers);
  setting.sync = options.sync;
  const auto preset = engine::preset(options.step_preset);
  if (!preset) return failure("step-preset: " + preset.error().message);
  setting.engine = *preset;
  if (!options.law.empty()) {
    const auto law = parse_law(options.law);
    if (!law) return tl::unexpected(law.error());
    setting.engine.law = *law;
  }
  setting.engine.slots = options.slots;
  setting.engine.decode_growth = options.decode_growth;
  const std::int64_t wanted = options.slots * std::clamp<std::int64_t>(options.decode_growth, 1, 16);
  setting.engine.step_token_budget = std::max(setting.engine.step_token_budget, wanted);
  // Workers whose prompts come with their KV are those of the barrier model, which knows no limit of memory.
  const auto& law = std::get<engine::StepLaw>(setting.engine.law);
  if (law.prompt_kv_given) setting.engine.kv_capacity = Tokens(std::int64_t{1} << 32);
  if (options.kv_tokens) setting.engine.kv_capacity = Tokens(*options.kv_tokens);
  if (options.speeds.empty()) return {};
  for (const auto part : split(options.speeds, ',')) {
    const auto speed = parse_double(trim(part));
    if (!speed) return failure(fmt::format("speeds: \"{}\" is no number; allowed: 0.001 to 1000, by worker", part));
    setting.speeds.push_back(*speed);
  }
  return {};
}

Result<Classes> parse_classes(std::string_view text) {
  Classes classes;
  const auto parts = split(text, ':');
  const auto count = parse_unsigned(parts[0]);
  const auto spread = parts.size() == 2 ? parse_double(parts[1]) : std::optional(classes.spread);
  if (parts.size() > 2 || !count || !spread) {
    return failure(fmt::format("classes: \"{}\"; allowed: N or N:SPREAD, as 400:0.08", text));
  }
  classes.count = static_cast<std::size_t>(*count);
  classes.spread = *spread;
  return classes;
}

Result<void> check_caps(const workload::Trace& trace, const Options& options) {
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const auto over = [&](std::string_view what, Tokens tokens, std::int64_t most, std::string_view option) {
      return failure(
          fmt::format("trace: request {} has {} {} tokens: allowed are up to {} (--{} allows more, --{}-cap "
                      "cuts)",
                      i + 1, tokens.value(), what, most, option, what));
    };
    const auto& request = trace.requests[i];
    if (request.prompt_tokens.value() > options.max_prompt) {
      return over("prompt", request.prompt_tokens, options.max_prompt, "max-prompt");
    }
    if (request.output_tokens.value() > options.max_output) {
      return over("output", request.output_tokens, options.max_output, "max-output");
    }
  }
  return {};
}

Result<void> read_lengths_of_trace(const Options& options, ParsedSetting& parsed) {
  auto trace = workload::read_trace(options.trace);
  if (!trace) return failure("trace: " + trace.error().message);
  if (trace->requests.empty()) return failure("trace: it has no requests: at least 1 is wanted");
  if (auto ok = check_caps(*trace, options); !ok) return ok;
  for (const std::string& note : trace->notes) parsed.notes.push_back("trace: " + note);
  parsed.setting.lengths.trace = std::make_shared<const workload::Trace>(*std::move(trace));
  return {};
}

Result<void> parse_lengths(const Options& options, ParsedSetting& parsed) {
  constexpr std::int64_t most = 10'000'000;
  if (auto ok = within<std::int64_t>("max-prompt", options.max_prompt, 1, most); !ok) return ok;
  if (auto ok = within<std::int64_t>("max-output", options.max_output, 1, most); !ok) return ok;
  Lengths& lengths = parsed.setting.lengths;
  const auto prompts = TokenLaw::parse("prompts", options.prompts, options.max_prompt);
  if (!prompts) return tl::unexpected(prompts.error());
  const auto outputs = TokenLaw::parse("outputs", options.outputs, options.max_output);
  if (!outputs) return tl::unexpected(outputs.error());
  lengths.prompts = *prompts;
  lengths.outputs = *outputs;
  if (!options.classes.empty()) {
    const auto classes = parse_classes(options.classes);
    if (!classes) return tl::unexpected(classes.error());
    lengths.classes = *classes;
  }
  return options.trace.path.empty() ? Result<void>() : read_lengths_of_trace(options, parsed);
}

Result<void> parse_pool(const Options& options, Setting& setting) {
  if (options.pool && options.pool_requests)
    return failure("pool and pool-requests contradict: one of them is allowed");
  if (options.pool_requests) {
    if (auto ok = within<std::int64_t>("pool-requests", *options.pool_requests, 1, 1'000'000); !ok) return ok;
    setting.arrivals.pool = static_cast<std::size_t>(*options.pool_requests);
    return {};
  }
  const double pool = options.pool.value_or(4);
  if (auto ok = within("pool", pool, 0.001, 1000.0); !ok) return ok;
  const double requests = pool * static_cast<double>(setting.workers);
  setting.arrivals.pool = static_cast<std::size_t>(std::max(1.0, std::round(requests)));
  return {};
}

Result<void> parse_arrivals(const Options& options, Setting& setting) {
  const std::string text = !options.arrivals.empty() ? options.arrivals : options.utilisation ? "poisson" : "saturated";
  Arrivals& arrivals = setting.arrivals;
  const auto parts = split(text, ':');
  const auto bad = [&](std::string_view why) {
    return failure(fmt::format("arrivals: \"{}\": {}; allowed: saturated, poisson:R, trace", text, why));
  };
  if (options.requests < 0) return failure(fmt::format("requests is {}: allowed are 0 and more", options.requests));
  arrivals.requests = static_cast<std::uint64_t>(options.requests);
  if (text == "saturated") {
    if (options.utilisation) return bad("a utilisation is of arrivals at a rate");
    arrivals.kind = Kind::saturated;
    if (auto ok = parse_pool(options, setting); !ok) return ok;
  } else if (parts[0] == "poisson" && parts.size() <= 2) {
    arrivals.kind = Kind::poisson;
    const auto rate = parts.size() == 2 ? parse_double(parts[1]) : std::nullopt;
    if (parts.size() == 2 && !rate) return bad("R is no number");
    if (rate.has_value() == options.utilisation.has_value()) return bad("wanted is R or a utilisation");
    arrivals.rate_per_s = rate.value_or(1);
  } else if (text == "trace") {
    arrivals.kind = Kind::trace;
  } else {
    return bad("no such form");
  }
  if (arrivals.kind != Kind::saturated && (options.pool || options.pool_requests)) {
    return failure("pool: only saturated arrivals keep a pool full");
  }
  if (setting.steps == 0 && setting.lengths.trace && arrivals.requests == 0) {
    arrivals.requests = setting.lengths.trace->requests.size();
  }
  return {};
}

Result<void> parse_routing(const Options& options, Setting& setting) {
  if (options.binding != "late" && options.binding != "early") {
    return failure(fmt::format("binding: \"{}\"; allowed: late, early", options.binding));
  }
  setting.binding = options.binding == "late" ? Binding::late : Binding::early;
  if (options.overtake_cap != "none") {
    const auto cap = parse_unsigned(options.overtake_cap);
    if (!cap || *cap < 1 || *cap > 1'000'000) {
      return failure(fmt::format("overtake-cap: \"{}\"; allowed: 1 to 1000000, none", options.overtake_cap));
    }
    setting.overtake_cap = static_cast<int>(*cap);
  }
  setting.stale_steps = options.stale_steps;
  if (auto ok = within<std::int64_t>("plan-window", options.plan_window, 0, 1'000'000); !ok) return ok;
  setting.plan_window = static_cast<std::size_t>(options.plan_window);
  return {};
}

Result<void> apply_utilisation(const Options& options, std::uint64_t seed, ParsedSetting& parsed) {
  if (!options.utilisation) return {};
  if (auto ok = within("utilisation", *options.utilisation, 0.01, 2.0); !ok) return ok;
  const auto rate = rate_at(*options.utilisation, parsed.setting, seed);
  if (!rate) return tl::unexpected(rate.error());
  parsed.setting.arrivals.rate_per_s = rate->per_s;
  parsed.notes.push_back(fmt::format(
      "utilisation {:g} is {:.6g} requests/s: saturated steps of {:.4g} ms, mean output {:.5g} tokens, {} slots",
      *options.utilisation, rate->per_s, rate->step_ms, rate->mean_output, parsed.setting.slots_total()));
  return {};
}

}  // namespace

Result<Rate> rate_at(double utilisation, const Setting& setting, std::uint64_t seed) {
  Setting full = setting;
  full.arrivals = {};
  full.arrivals.pool = 4 * setting.workers;
  full.binding = Binding::late;
  full.stale_steps = 0;
  full.overtake_cap = 0;
  full.trajectory_points = 0;
  const double lives = std::round(10 * setting.lengths.mean_output());
  full.steps = static_cast<std::int64_t>(std::clamp(lives, 1000.0, 50'000.0));
  if (auto ok = validate(full); !ok) return tl::unexpected(ok.error());
  const auto result = run(full, routing::PolicySpec{"least_requests", {}}, seed);
  if (!result) return tl::unexpected(result.error());
  Rate rate;
  rate.step_ms = result->metrics.step_ms;
  rate.mean_output = setting.lengths.mean_output();
  const double steps_a_request = 2 * rate.mean_output / (1 + static_cast<double>(setting.engine.decode_growth));
  rate.per_s = utilisation * static_cast<double>(setting.slots_total()) / (steps_a_request * rate.step_ms * 1e-3);
  return rate;
}

Result<ParsedSetting> parse_setting(const Options& options, std::uint64_t seed) {
  ParsedSetting parsed;
  Setting& setting = parsed.setting;
  setting.steps = options.steps;
  auto ready = parse_engine(options, setting)
                   .and_then([&] { return parse_lengths(options, parsed); })
                   .and_then([&] { return parse_arrivals(options, setting); })
                   .and_then([&] { return parse_routing(options, setting); })
                   .and_then([&] { return validate(setting); })
                   .and_then([&] { return apply_utilisation(options, seed, parsed); });
  if (!ready) return tl::unexpected(ready.error());
  return parsed;
}

}  // namespace evenkeel::simulation
