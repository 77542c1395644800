#include "simulation/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/presets.hpp"
#include "simulation/batch.hpp"
#include "simulation/bounds.hpp"
#include "simulation/trace_lengths.hpp"

namespace evenkeel::simulation {

namespace {

using Kind = Arrivals::Kind;

Result<engine::StepLaw> parse_law(std::string_view text) {
  const auto parts = split(text, ':');
  const auto fixed_ms = parts.size() == 2 ? parse_double(parts[0]) : std::nullopt;
  const auto token_us = parts.size() == 2 ? parse_double(parts[1]) : std::nullopt;
  if (!fixed_ms || !token_us) return failure(fmt::format("--law: \"{}\"; allowed: FIXED_MS:TOKEN_US, as 70:0.2", text));
  if (auto ok = bounds::fixed_ms.check("--law: FIXED_MS", *fixed_ms); !ok) return tl::unexpected(ok.error());
  if (auto ok = bounds::token_us.check("--law: TOKEN_US", *token_us); !ok) return tl::unexpected(ok.error());
  engine::StepLaw law;
  law.fixed_ms = *fixed_ms;
  law.kv_token_ms = *token_us * 1e-3;
  law.prompt_kv_given = true;
  return law;
}

Result<void> parse_speeds(std::string_view text, Setting& setting) {
  if (text.empty()) return {};
  for (const auto part : split(text, ',')) {
    const auto speed = parse_double(trim(part));
    if (!speed || !bounds::speed.holds(*speed)) {
      return failure(fmt::format("--speeds: \"{}\"; allowed: numbers from {} to {}, by worker", part, bounds::speed.low,
                                 bounds::speed.high));
    }
    setting.speeds.push_back(*speed);
  }
  if (setting.speeds.size() <= setting.workers) return {};
  return failure(fmt::format("--speeds has {} entries: allowed is at most one for each of --workers, {}",
                             setting.speeds.size(), setting.workers));
}

Result<void> parse_engine(const Options& options, Setting& setting) {
  if (auto ok = bounds::workers.check("--workers", options.workers); !ok) return ok;
  if (auto ok = bounds::slots.check("--slots", options.slots); !ok) return ok;
  if (auto ok = bounds::decode_growth.check("--decode-growth", options.decode_growth); !ok) return ok;
  setting.workers = static_cast<std::size_t>(options.workers);
  setting.sync = options.sync;
  const auto preset = engine::preset(options.step_preset);
  if (!preset) return failure("--step-preset: " + preset.error().message);
  setting.engine = *preset;
  if (!options.law.empty()) {
    const auto law = parse_law(options.law);
    if (!law) return tl::unexpected(law.error());
    setting.engine.law = *law;
  }
  setting.engine.slots = options.slots;
  setting.engine.decode_growth = options.decode_growth;
  setting.engine.prefix_cache = options.prefix_cache;
  if (options.kv_block) {
    if (auto ok = bounds::kv_block.check("--kv-block", *options.kv_block); !ok) return ok;
    setting.engine.block_size = *options.kv_block;
  }
  setting.engine.step_token_budget = std::max(setting.engine.step_token_budget, options.slots * options.decode_growth);
  // Workers whose prompts come with their KV are those of the barrier model, which knows no limit of memory.
  const auto& law = std::get<engine::StepLaw>(setting.engine.law);
  if (law.prompt_kv_given) setting.engine.kv_capacity = Tokens(bounds::kv_tokens.high);
  if (law.prompt_kv_given && options.kv_block && !options.kv_tokens) {
    return failure(
        "--kv-block has no effect: these workers have KV blocks without end unless --kv-tokens says how many");
  }
  if (options.kv_tokens) {
    if (auto ok = bounds::kv_tokens.check("--kv-tokens", *options.kv_tokens); !ok) return ok;
    setting.engine.kv_capacity = Tokens(*options.kv_tokens);
  }
  return parse_speeds(options.speeds, setting);
}

Result<Classes> parse_classes(std::string_view text) {
  Classes classes;
  const auto parts = split(text, ':');
  const auto count = parse_unsigned(parts[0]);
  const auto spread = parts.size() == 2 ? parse_double(parts[1]) : std::optional(classes.spread);
  if (parts.size() > 2 || !count || !spread || *count > static_cast<std::uint64_t>(bounds::classes.high) ||
      *count == 0 || !bounds::spread.holds(*spread)) {
    return failure(fmt::format("--classes: \"{}\"; allowed: N or N:SPREAD, as 400:0.08, N {} to {}, SPREAD {} to {}",
                               text, bounds::classes.low, bounds::classes.high, bounds::spread.low,
                               bounds::spread.high));
  }
  classes.count = static_cast<std::size_t>(*count);
  classes.spread = *spread;
  return classes;
}

Result<SharedPrefixes> parse_prefixes(std::string_view text) {
  const auto parts = split(text, ':');
  const auto count = parse_unsigned(parts[0]);
  const std::uint64_t tokens = parts.size() >= 2 ? parse_unsigned(parts[1]).value_or(0) : 0;
  const auto hot = parts.size() == 3 ? parse_double(parts[2]) : std::optional(1.0);
  if (parts.size() > 3 || !count || !tokens || !hot || *count > 1'000'000 || tokens > 1'000'000) {
    return failure(fmt::format("--prefixes: \"{}\"; allowed: N:TOKENS or N:TOKENS:HOT, as 64:4096:10", text));
  }
  return SharedPrefixes{static_cast<std::uint32_t>(*count), static_cast<std::int64_t>(tokens), *hot};
}

Result<void> parse_lengths(const Options& options, ParsedSetting& parsed) {
  if (auto ok = bounds::longest.check("--max-prompt", options.max_prompt); !ok) return ok;
  if (auto ok = bounds::longest.check("--max-output", options.max_output); !ok) return ok;
  Lengths& lengths = parsed.setting.lengths;
  const auto prompts = TokenLaw::parse("--prompts", options.prompts, options.max_prompt);
  if (!prompts) return tl::unexpected(prompts.error());
  const auto outputs = TokenLaw::parse("--outputs", options.outputs, options.max_output);
  if (!outputs) return tl::unexpected(outputs.error());
  lengths.prompts = *prompts;
  lengths.outputs = *outputs;
  if (!options.classes.empty()) {
    const auto classes = parse_classes(options.classes);
    if (!classes) return tl::unexpected(classes.error());
    lengths.classes = *classes;
  }
  if (!options.prefixes.empty()) {
    if (!options.prefix_cache) return failure("--prefixes: --prefix-cache is wanted, else nothing is made of them");
    if (lengths.classes) return failure("--prefixes and --classes contradict: one of them is allowed");
    const auto prefixes = parse_prefixes(options.prefixes);
    if (!prefixes) return tl::unexpected(prefixes.error());
    lengths.shared = *prefixes;
  }
  if (options.trace.path.empty()) return {};
  if (lengths.classes) return failure("--classes and --trace contradict: a trace has lengths of its own");
  if (lengths.shared) return failure("--prefixes and --trace contradict: a trace has beginnings of its own");
  auto trace = read_trace_lengths(options, parsed.notes);
  if (!trace) return tl::unexpected(trace.error());
  lengths.trace = *std::move(trace);
  return {};
}

Result<void> parse_pool(const Options& options, Setting& setting) {
  if (options.max_waiting) return failure("--max-waiting: --arrivals saturated keeps as many waiting as --pool says");
  if (options.pool && options.pool_requests) return failure("--pool and --pool-requests contradict: allowed is one");
  if (options.pool_requests) {
    if (auto ok = bounds::waiting.check("--pool-requests", *options.pool_requests); !ok) return ok;
    setting.arrivals.pool = static_cast<std::size_t>(*options.pool_requests);
    return {};
  }
  const double pool = options.pool.value_or(4);
  if (auto ok = bounds::pool.check("--pool", pool); !ok) return ok;
  const double requests = pool * static_cast<double>(setting.workers);
  setting.arrivals.pool = static_cast<std::size_t>(std::max(1.0, std::round(requests)));
  return {};
}

/// What is said of arrivals that do not look at what waits.
Result<void> parse_open_arrivals(const Options& options, Arrivals& arrivals) {
  if (options.pool || options.pool_requests) {
    return failure("--pool, --pool-requests: only --arrivals saturated keeps a pool full (--max-waiting bounds it)");
  }
  const std::int64_t most = options.max_waiting.value_or(default_most_waiting);
  if (auto ok = bounds::waiting.check("--max-waiting", most); !ok) return ok;
  arrivals.most_waiting = static_cast<std::size_t>(most);
  return {};
}

Result<void> parse_arrivals(const Options& options, Setting& setting) {
  const std::string text = !options.arrivals.empty() ? options.arrivals : options.utilisation ? "poisson" : "saturated";
  Arrivals& arrivals = setting.arrivals;
  const auto parts = split(text, ':');
  const auto bad = [&](std::string_view why) {
    return failure(fmt::format("--arrivals: \"{}\": {}; allowed: saturated, poisson:R, trace", text, why));
  };
  if (auto ok = bounds::requests.check("--requests", options.requests); !ok) return ok;
  arrivals.requests = static_cast<std::uint64_t>(options.requests);
  if (text == "saturated") {
    if (options.utilisation) return bad("--utilisation is of arrivals at a rate");
    arrivals.kind = Kind::saturated;
    if (auto ok = parse_pool(options, setting); !ok) return ok;
  } else if (parts[0] == "poisson" && parts.size() <= 2) {
    arrivals.kind = Kind::poisson;
    const auto rate = parts.size() == 2 ? parse_double(parts[1]) : std::nullopt;
    if (parts.size() == 2 && !rate) return bad("R is no number");
    if (rate.has_value() == options.utilisation.has_value()) return bad("wanted is R or --utilisation, one of them");
    arrivals.rate_per_s = rate.value_or(1);
    if (auto ok = bounds::rate_per_s.check("--arrivals: R", arrivals.rate_per_s); !ok) return ok;
  } else if (text == "trace") {
    if (!setting.lengths.trace) return bad("--trace is wanted");
    arrivals.kind = Kind::trace;
  } else {
    return bad("no such form");
  }
  if (arrivals.kind != Kind::saturated) {
    if (auto ok = parse_open_arrivals(options, arrivals); !ok) return ok;
  }
  if (setting.lengths.trace && arrivals.requests == 0 && setting.steps == 0) {
    arrivals.requests = setting.lengths.trace->requests.size();
  }
  if (options.trace.slice.time_scale != 1 && (arrivals.kind != Kind::trace || options.utilisation)) {
    return failure("--time-scale: only --arrivals trace without --utilisation follows the trace's time");
  }
  if (setting.steps > 0 || arrivals.kind == Kind::trace || arrivals.requests > 0) return {};
  return failure("--steps is 0, which runs to the end: wanted is an end, by --requests or --trace");
}

Result<void> parse_routing(const Options& options, Setting& setting) {
  if (options.binding != "late" && options.binding != "early") {
    return failure(fmt::format("--binding: \"{}\"; allowed: late, early", options.binding));
  }
  setting.binding = options.binding == "late" ? Binding::late : Binding::early;
  if (options.stepping != "ideal" && options.stepping != "live") {
    return failure(fmt::format("--stepping: \"{}\"; allowed: ideal, live", options.stepping));
  }
  setting.stepping = options.stepping == "ideal" ? Stepping::ideal : Stepping::live;
  if (options.overtake_cap != "none") {
    const auto cap = parse_unsigned(options.overtake_cap);
    if (!cap || *cap > static_cast<std::uint64_t>(bounds::overtake_cap.high)) {
      return failure(fmt::format("--overtake-cap: \"{}\"; allowed: {} to {}, none (the same as 0)",
                                 options.overtake_cap, bounds::overtake_cap.low, bounds::overtake_cap.high));
    }
    setting.overtake_cap = static_cast<int>(*cap);
  }
  if (auto ok = bounds::prompt_weight.check("--prompt-weight", options.prompt_weight); !ok) return ok;
  setting.prompt_weight = options.prompt_weight;
  if (options.redline != "off" && options.redline != "on" && options.redline != "published") {
    return failure(fmt::format("--redline: \"{}\"; allowed: off, on, published", options.redline));
  }
  if (auto ok = bounds::redline_level.check("--redline-level", options.redline_level); !ok) return ok;
  if (options.redline != "on" && options.redline_level != redline::Options().level)
    return failure("--redline-level has no effect without --redline on");
  setting.redline.level = options.redline_level;
  setting.redline.on = options.redline != "off";
  if (options.redline == "published") setting.redline.line = redline::Line::published;
  if (auto ok = bounds::stale_steps.check("--stale-steps", options.stale_steps); !ok) return ok;
  if (options.stale_steps > 0 && !setting.sync) return failure("--stale-steps counts shared steps: --sync is wanted");
  if (options.stale_steps > 0 && setting.stepping == Stepping::live) {
    return failure("--stale-steps: with --stepping live loads are as old as the tokens that were told");
  }
  setting.stale_steps = options.stale_steps;
  if (auto ok = bounds::plan_window.check("--plan-window", options.plan_window); !ok) return ok;
  setting.plan_window = static_cast<std::size_t>(options.plan_window);
  return {};
}

/// What fits together only as a whole is checked by fields; here they are flags.
Error named_by_flags(Error error) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> flags = {
      {{"slots", "--slots"},
       {"decode_growth", "--decode-growth"},
       {"block_size", "--kv-block"},
       {"kv_capacity", "--kv-tokens"},
       {"blocks of a prefix_cache", "--kv-tokens: the number of blocks"},
       {"prefix_cache", "--prefix-cache"},
       {"prefixes", "--prefixes: N"},
       {"tokens of prefixes", "--prefixes: TOKENS"},
       {"hot of prefixes", "--prefixes: HOT"}}};
  return {in_flags(std::move(error.message), flags)};
}

Result<void> apply_utilisation(const Options& options, std::uint64_t seed,
                               const std::function<void(std::uint64_t)>& progress, ParsedSetting& parsed) {
  if (!options.utilisation) return {};
  if (auto ok = bounds::utilisation.check("--utilisation", *options.utilisation); !ok) return ok;
  const auto rate = rate_at(*options.utilisation, parsed.setting, seed, progress);
  if (!rate) return tl::unexpected(rate.error());
  parsed.setting.arrivals.rate_per_s = rate->per_s;
  parsed.notes.push_back(fmt::format(
      "utilisation {:g} is {:.6g} requests/s: saturated steps of {:.4g} ms, mean output {:.5g} tokens, {} slots",
      *options.utilisation, rate->per_s, rate->step_ms, rate->mean_output, parsed.setting.slots_total()));
  return {};
}

}  // namespace

Result<Rate> rate_at(double utilisation, const Setting& setting, std::uint64_t seed,
                     const std::function<void(std::uint64_t)>& progress) {
  Setting full = setting;
  full.arrivals = {};
  full.arrivals.pool = 4 * setting.workers;
  full.binding = Binding::late;
  full.stale_steps = 0;
  full.overtake_cap = 0;
  full.trajectory_points = 0;
  const double lives = std::round(10 * setting.lengths.mean_output());
  full.steps = static_cast<std::int64_t>(std::clamp(lives, 1000.0, 50'000.0));
  BatchOptions one;
  one.seeds = 1;
  one.first_seed = seed;
  one.progress = progress;
  const auto result = run_all(full, {routing::PolicySpec{"least_requests", {}}}, one);
  if (!result) return tl::unexpected(result.error());
  Rate rate;
  rate.step_ms = result->front().mean.step_ms;
  rate.mean_output = setting.lengths.mean_output();
  const double steps_a_request = 2 * rate.mean_output / (1 + static_cast<double>(setting.engine.decode_growth));
  rate.per_s = utilisation * static_cast<double>(setting.slots_total()) / (steps_a_request * rate.step_ms * 1e-3);
  return rate;
}

Result<ParsedSetting> parse_setting(const Options& options, std::uint64_t seed,
                                    const std::function<void(std::uint64_t)>& progress) {
  ParsedSetting parsed;
  Setting& setting = parsed.setting;
  if (auto ok = bounds::steps.check("--steps", options.steps); !ok) return tl::unexpected(ok.error());
  setting.steps = options.steps;
  auto ready = parse_engine(options, setting)
                   .and_then([&] { return parse_lengths(options, parsed); })
                   .and_then([&] { return parse_arrivals(options, setting); })
                   .and_then([&] { return parse_routing(options, setting); })
                   .and_then([&] { return validate(setting).map_error(named_by_flags); })
                   .and_then([&] { return apply_utilisation(options, seed, progress, parsed); });
  if (!ready) return tl::unexpected(ready.error());
  return parsed;
}

}  // namespace evenkeel::simulation
