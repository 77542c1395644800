#include "simulation/setting.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include <fmt/format.h>

namespace evenkeel::simulation {

namespace {

template <class Number>
Result<void> within(std::string_view field, Number value, Number low, Number high) {
  if (value >= low && value <= high) return {};
  return failure(fmt::format("{} is {}: allowed are {} to {}", field, value, low, high));
}

Result<void> validate_arrivals(const Setting& setting) {
  const Arrivals& arrivals = setting.arrivals;
  const auto& trace = setting.lengths.trace;
  switch (arrivals.kind) {
    case Arrivals::Kind::saturated:
      if (auto ok = within<std::size_t>("pool", arrivals.pool, 1, 1'000'000); !ok) return ok;
      break;
    case Arrivals::Kind::poisson:
      if (!(arrivals.rate_per_s >= 1e-6 && arrivals.rate_per_s <= 1e6)) {
        return failure(fmt::format("rate is {} a second: allowed are 0.000001 to 1000000", arrivals.rate_per_s));
      }
      break;
    case Arrivals::Kind::trace:
      if (!trace) return failure("arrivals is trace: a trace is wanted");
      break;
  }
  const bool endless = arrivals.kind != Arrivals::Kind::trace && arrivals.requests == 0;
  if (setting.steps == 0 && endless) {
    return failure("steps is 0, which runs to the end: wanted are a number of requests or the arrivals of a trace");
  }
  return {};
}

Result<void> validate_lengths(const Lengths& lengths) {
  if (lengths.trace && lengths.trace->requests.empty())
    return failure("the trace has no requests: at least 1 is wanted");
  if (!lengths.classes) return {};
  if (lengths.trace) return failure("classes and a trace contradict: the trace has lengths of its own");
  if (auto ok = within<std::size_t>("classes", lengths.classes->count, 1, 1'000'000); !ok) return ok;
  return within("spread of classes", lengths.classes->spread, 0.0, 1.0);
}

Result<void> validate_speeds(const Setting& setting) {
  if (setting.speeds.size() > setting.workers) {
    return failure(fmt::format("speeds has {} entries: allowed is at most one for each of {} workers",
                               setting.speeds.size(), setting.workers));
  }
  for (std::size_t i = 0; i < setting.speeds.size(); ++i) {
    const double speed = setting.speeds[i];
    if (auto ok = within(fmt::format("speeds[{}]", i), speed, 0.001, 1000.0); !ok) return ok;
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
  return within<std::size_t>("workers", setting.workers, 1, 1024)
      .and_then([&] { return engine::validate(one); })
      .and_then([&] { return validate_speeds(setting); })
      .and_then([&] { return validate_lengths(setting.lengths); })
      .and_then([&] { return validate_arrivals(setting); })
      .and_then([&] { return within("overtake_cap", setting.overtake_cap, 0, 1'000'000); })
      .and_then([&] { return within<std::int64_t>("stale_steps", setting.stale_steps, 0, 10'000); })
      .and_then([&]() -> Result<void> {
        if (setting.stale_steps > 0 && !setting.sync) return failure("stale_steps counts shared steps: sync is wanted");
        return {};
      })
      .and_then([&] { return within<std::int64_t>("steps", setting.steps, 0, 1'000'000'000); });
}

}  // namespace evenkeel::simulation
