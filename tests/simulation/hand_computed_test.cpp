// Runs short enough to be written out by hand: the order of one step, its timing, every metric.
#include <vector>

#include <gtest/gtest.h>

#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;
using Loads = std::vector<std::vector<double>>;

struct Seen {
  Loads loads;
  std::vector<std::int64_t> running;
  std::vector<std::int64_t> held;
  std::vector<double> starts_ms;

  [[nodiscard]] RunHooks hooks() {
    RunHooks hooks;
    hooks.step = [this](const StepSeen& step) {
      if (step.standing.running == 0) return;  // after the last step
      loads.push_back(step.standing.loads);
      running.push_back(step.standing.running);
      held.push_back(step.standing.held);
      starts_ms.push_back(to_millis(step.start.time_since_epoch()));
    };
    return hooks;
  }
};

// Two workers of two slots, a pool of two, round robin from worker 0:
//   step 1  a(10, 1 token) to 0, b(20, 3 tokens) to 1                          loads 10, 20
//   step 2  a is gone, b has grown to 21; c(5, 2) to 0, d(7, 1) to 1           loads 5, 28
//   step 3  d is gone, c 6, b 22; e(3, 2) to 0, the last                       loads 9, 22
//   step 4  b and c are gone, e 4                                              loads 4, 0
TEST(HandComputed, TwoWorkersInStepStepByStep) {
  Setting setting = plain_setting(2, 2, true);
  setting.lengths.trace = trace_of({{0, 10, 1}, {0, 20, 3}, {0, 5, 2}, {0, 7, 1}, {0, 3, 2}});
  setting.arrivals.requests = 5;
  setting.steps = 0;
  Seen seen;
  const RunResult result = run_or_fail(setting, "round_robin", 1, seen.hooks());

  EXPECT_EQ(seen.loads, (Loads{{10, 20}, {5, 28}, {9, 22}, {4, 0}}));
  EXPECT_EQ(seen.running, (std::vector<std::int64_t>{2, 3, 3, 1}));
  const std::vector<double> starts{0, 10.020, 20.048, 30.070};
  ASSERT_EQ(seen.starts_ms.size(), starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_NEAR(seen.starts_ms[i], starts[i], 1e-6);

  const Metrics& m = result.metrics;
  EXPECT_EQ(result.measured_steps, 4);
  EXPECT_DOUBLE_EQ(m.mean_imbalance, (10 + 23 + 13 + 4) / 4.0);
  EXPECT_DOUBLE_EQ(m.idle, (10 / 40.0 + 23 / 56.0 + 13 / 44.0 + 4 / 8.0) / 4);
  EXPECT_DOUBLE_EQ(m.mean_load, (30 + 33 + 31 + 4) / 2.0 / 4);
  EXPECT_DOUBLE_EQ(m.occupancy, 9 / 16.0);
  EXPECT_NEAR(m.step_ms, 40.074 / 4, 1e-9);
  EXPECT_NEAR(m.makespan_s, 0.040074, 1e-12);
  EXPECT_NEAR(m.throughput, 9 / 0.040074, 1e-6);
  EXPECT_NEAR(m.tpot_p50_ms, 30.070 / 3, 1e-9);  // of 10.013, 10.020, 10.02333, 10.025, 10.028
  EXPECT_NEAR(m.tpot_p99_ms, 10.028, 1e-9);
  EXPECT_NEAR(m.ttft_p95_s, 0.010028, 1e-12);
  EXPECT_EQ(m.wait_max_s, 0);
  EXPECT_EQ(m.overtakes_max, 0);
  EXPECT_DOUBLE_EQ(m.served_mean_prompt, 9);
  EXPECT_EQ(m.requests, 5);
  EXPECT_EQ(m.held_share, 0);
}

// One worker of one slot; what comes within a step is looked at at its end, what comes to an idle worker at once.
TEST(HandComputed, WaitsCountFromTheArrival) {
  Setting setting = plain_setting(1, 1, true);
  setting.lengths.trace = trace_of({{0, 10, 2}, {1, 20, 1}, {25, 30, 1}, {60, 40, 1}});
  setting.arrivals.kind = Arrivals::Kind::trace;
  setting.steps = 0;
  Seen seen;
  const RunResult result = run_or_fail(setting, "least_requests", 1, seen.hooks());

  const std::vector<double> starts{0, 10.010, 20.021, 30.041, 60};
  ASSERT_EQ(seen.starts_ms.size(), starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_NEAR(seen.starts_ms[i], starts[i], 1e-6);
  EXPECT_EQ(seen.loads, (Loads{{10}, {11}, {20}, {30}, {40}}));
  EXPECT_NEAR(result.metrics.wait_max_s, 0.019021, 1e-12);
  EXPECT_NEAR(result.metrics.wait_mean_s, (0 + 19.021 + 5.041 + 0) * 1e-3 / 4, 1e-12);
  EXPECT_EQ(result.metrics.wait_smallest_decile_s, 0);
  EXPECT_EQ(result.metrics.wait_largest_decile_s, 0);
  EXPECT_EQ(result.metrics.mean_imbalance, 0);  // alone, it waits for nobody
  EXPECT_EQ(result.metrics.idle, 0);
  EXPECT_EQ(result.metrics.occupancy, 1);  // over steps: while nobody is there, none is made
  EXPECT_DOUBLE_EQ(result.metrics.mean_load, (10 + 11 + 20 + 30 + 40) / 5.0);
}

// Workers that step by themselves: a(1000, 2 tokens) on worker 0 steps at 11.000 and 22.001 ms, b(4000, 1) on worker 1
// ends at 14 ms, where c, waiting since 12 ms, starts at once: c(500, 1) lasts until 24.500.
TEST(HandComputed, WorkersOfTheirOwnPace) {
  Setting setting = plain_setting(2, 1, false);
  setting.lengths.trace = trace_of({{0, 1000, 2}, {0, 4000, 1}, {12, 500, 1}});
  setting.arrivals.kind = Arrivals::Kind::trace;
  setting.steps = 0;
  const RunResult result = run_or_fail(setting, "round_robin", 1);
  const Metrics& m = result.metrics;
  EXPECT_NEAR(m.wait_max_s, 0.002, 1e-12);
  EXPECT_NEAR(m.makespan_s, 0.0245, 1e-12);
  EXPECT_NEAR(m.step_ms, (11.000 + 11.001 + 14 + 10.5) / 4, 1e-9);
  // 1000 and 4000 to 11 ms, 1001 and 4000 to 14, 1001 and 500 to 22.001, 500 alone to 24.5.
  const double area = 3000 * 11 + 2999 * 3 + 501 * 8.001 + 500 * 2.499;
  EXPECT_NEAR(m.mean_imbalance, area / 24.5, 1e-6);
  EXPECT_NEAR(m.occupancy, (2 * 22.001 + 2.499) / (2 * 24.5), 1e-9);
}

// The same three requests bound early: c goes to worker 0 (round robin) and queues there until 22.001 ms.
TEST(HandComputed, EarlyBoundRequestsWaitAtTheirWorker) {
  Setting setting = plain_setting(2, 1, false);
  setting.lengths.trace = trace_of({{0, 1000, 2}, {0, 4000, 1}, {12, 500, 1}});
  setting.arrivals.kind = Arrivals::Kind::trace;
  setting.binding = Binding::early;
  setting.steps = 0;
  const RunResult result = run_or_fail(setting, "round_robin", 1);
  EXPECT_NEAR(result.metrics.wait_max_s, 0.010001, 1e-12);
  EXPECT_NEAR(result.metrics.makespan_s, 0.032501, 1e-12);
}

// Worker 1 has half the speed: 20 ms + 2 us a token. Its 100 tokens take 20.2 ms, the 400 of worker 0 10.4: worker 0
// waits 9.8 ms, which is 9800 tokens of its own.
TEST(HandComputed, UnequalWorkersAreComparedInTime) {
  Setting setting = plain_setting(2, 1, true);
  setting.speeds = {1, 0.5};
  setting.lengths.trace = trace_of({{0, 400, 1}, {0, 100, 1}});
  setting.arrivals.requests = 2;
  setting.steps = 0;
  const RunResult result = run_or_fail(setting, "round_robin", 1);
  EXPECT_NEAR(result.metrics.step_ms, 20.2, 1e-9);
  EXPECT_NEAR(result.metrics.mean_imbalance, 9800, 1e-6);
  EXPECT_NEAR(result.metrics.idle, 9800 / (2 * 10'200.0), 1e-9);  // 20.2 ms are 10,200 tokens over 10 ms
}

TEST(HandComputed, WhatFollowsInAConversationComesAfterItsThinkTime) {
  Setting setting = plain_setting(1, 4, true);
  const auto trace = trace_of({{0, 100, 1}, {0, 200, 1}});
  trace->requests[1].after = 0;
  trace->requests[1].think = from_millis(5);
  setting.lengths.trace = trace;
  setting.arrivals.kind = Arrivals::Kind::trace;
  setting.steps = 0;
  Seen seen;
  const RunResult result = run_or_fail(setting, "least_requests", 1, seen.hooks());
  ASSERT_EQ(seen.starts_ms.size(), 2U);
  EXPECT_NEAR(seen.starts_ms[1], 10.1 + 5, 1e-6);
  EXPECT_EQ(result.metrics.wait_max_s, 0);
}

}  // namespace
}  // namespace evenkeel::simulation
