#include "simulation/setting.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "simulation/bounds.hpp"

namespace evenkeel::simulation {

namespace {

Result<void> validate_arrivals(const Setting& setting) {
  const Arrivals& arrivals = setting.arrivals;
  const auto& trace = setting.lengths.trace;
  switch (arrivals.kind) {
    case Arrivals::Kind::saturated:
      if (auto ok = bounds::waiting.check("pool", static_cast<std::int64_t>(arrivals.pool)); !ok) return ok;
      break;
    case Arrivals::Kind::poisson:
      if (auto ok = bounds::rate_per_s.check("rate_per_s", arrivals.rate_per_s); !ok) return ok;
      break;
    case Arrivals::Kind::trace:
      if (!trace) return failure("arrivals is trace: a trace is wanted");
      break;
  }
  const auto most_waiting = static_cast<std::int64_t>(arrivals.most_waiting);
  if (auto ok = bounds::waiting.check("most_waiting", most_waiting); !ok) return ok;
  const bool endless = arrivals.kind != Arrivals::Kind::trace && arrivals.requests == 0;
  if (setting.steps == 0 && endless) {
    return failure("steps is 0, which runs to the end: wanted are a number of requests or the arrivals of a trace");
  }
  return {};
}

Result<void> validate_lengths(const Lengths& lengths) {
  if (lengths.trace && lengths.trace->requests.empty())
    return failure("the trace has no requests: at least 1 is wanted");
  if (lengths.shared) {
    if (lengths.trace || lengths.classes) return failure("prefixes are of laws: a trace or classes contradict them");
    if (auto ok = bounds::prefixes.check("prefixes", lengths.shared->count); !ok) return ok;
    if (auto ok = bounds::prefix_tokens.check("tokens of prefixes", lengths.shared->tokens); !ok) return ok;
    if (auto ok = bounds::prefix_hot.check("hot of prefixes", lengths.shared->hot); !ok) return ok;
  }
  if (!lengths.classes) return {};
  if (lengths.trace) return failure("classes and a trace contradict: the trace has lengths of its own");
  return bounds::classes.check("classes", static_cast<std::int64_t>(lengths.classes->count)).and_then([&] {
    return bounds::spread.check("spread of classes", lengths.classes->spread);
  });
}

Result<void> validate_speeds(const Setting& setting) {
  if (setting.speeds.size() > setting.workers) {
    return failure(fmt::format("speeds has {} entries: allowed is at most one for each of {} workers",
                               setting.speeds.size(), setting.workers));
  }
  for (std::size_t i = 0; i < setting.speeds.size(); ++i) {
    const double speed = setting.speeds[i];
    if (auto ok = bounds::speed.check(fmt::format("speeds[{}]", i), speed); !ok) return ok;
  }
  return {};
}

}  // namespace

bool Setting::equal_speeds() const {
  return std::ranges::all_of(speeds, [this](double each) { return each == speed(0); }) &&
         (speeds.size() == workers || speed(0) == 1.0);
}

fleet::StepTime Setting::step_time_of_speed_1() const {
  const auto& law = std::get<engine::StepLaw>(engine.law);
  return {law.fixed_ms * 1e-3, law.kv_token_ms * 1e-3};
}

fleet::StepTime Setting::step_time(std::size_t worker) const {
  const fleet::StepTime one = step_time_of_speed_1();
  return {one.fixed_s / speed(worker), one.token_s / speed(worker)};
}

Result<void> validate(const Setting& setting) {
  if (!std::holds_alternative<engine::StepLaw>(setting.engine.law)) {
    return failure("the engine has a rate table: allowed are laws of step time");
  }
  engine::EngineConfig one = setting.engine;
  one.ranks = 1;
  one.rank_speeds.clear();
  return bounds::workers.check("workers", static_cast<std::int64_t>(setting.workers))
      .and_then([&] { return engine::validate(one); })
      .and_then([&] { return validate_speeds(setting); })
      .and_then([&] { return validate_lengths(setting.lengths); })
      .and_then([&] { return validate_arrivals(setting); })
      .and_then([&] { return bounds::prompt_weight.check("prompt_weight", setting.prompt_weight); })
      .and_then([&] { return bounds::overtake_cap.check("overtake_cap", setting.overtake_cap); })
      .and_then([&] { return bounds::stale_steps.check("stale_steps", setting.stale_steps); })
      .and_then([&]() -> Result<void> {
        if (setting.stale_steps > 0 && !setting.sync) return failure("stale_steps counts shared steps: sync is wanted");
        if (setting.stale_steps > 0 && setting.stepping == Stepping::live) {
          return failure("stale_steps: with stepping live loads are as old as the tokens that were told");
        }
        return {};
      })
      .and_then([&] { return bounds::steps.check("steps", setting.steps); });
}

}  // namespace evenkeel::simulation
