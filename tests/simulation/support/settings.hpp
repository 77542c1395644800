#pragma once

// Small settings and traces for the tests of the simulation.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "simulation/options.hpp"
#include "simulation/run.hpp"

namespace evenkeel::simulation::testing {

struct TraceRow {
  double arrival_ms = 0;
  std::int64_t prompt = 1;
  std::int64_t output = 1;
};

[[nodiscard]] inline std::shared_ptr<workload::Trace> trace_of(const std::vector<TraceRow>& rows) {
  auto trace = std::make_shared<workload::Trace>();
  trace->format = "made";
  for (const TraceRow& row : rows) {
    workload::TraceRequest request;
    request.arrival = from_millis(row.arrival_ms);
    request.prompt_tokens = Tokens(row.prompt);
    request.output_tokens = Tokens(row.output);
    trace->requests.push_back(request);
  }
  return trace;
}

/// A step of 10 ms + 1 us a KV token, prompts given.
[[nodiscard]] inline Setting plain_setting(std::size_t workers, std::int64_t slots, bool sync) {
  Setting setting;
  setting.workers = workers;
  setting.sync = sync;
  engine::StepLaw law;
  law.fixed_ms = 10;
  law.kv_token_ms = 1e-3;
  law.prompt_kv_given = true;
  setting.engine.law = law;
  setting.engine.slots = slots;
  setting.engine.kv_capacity = Tokens(std::int64_t{1} << 32);
  setting.arrivals.pool = workers;
  return setting;
}

[[nodiscard]] inline RunResult run_or_fail(const Setting& setting, std::string_view policy, std::uint64_t seed,
                                           const RunHooks& hooks = {}) {
  const auto valid = validate(setting);
  EXPECT_TRUE(valid.has_value()) << valid.error().message;
  if (!valid) return {};
  const auto spec = routing::PolicySpec::parse(policy);
  EXPECT_TRUE(spec.has_value());
  auto result = run(setting, *spec, seed, hooks);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result ? std::move(*result) : RunResult{};
}

[[nodiscard]] inline Setting parsed_or_fail(const Options& options, std::uint64_t seed = 1) {
  auto parsed = parse_setting(options, seed);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  return parsed ? std::move(parsed->setting) : Setting{};
}

}  // namespace evenkeel::simulation::testing
