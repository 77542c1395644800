// Runs to the end: whatever the fleet is like, every request is served whole and nothing is left in any book.
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

struct Case {
  const char* name;
  bool sync = true;
  const char* binding = "late";
  const char* arrivals = "saturated";
  std::int64_t growth = 1;
  std::optional<std::int64_t> kv_tokens;
  const char* preset = "paper";
  const char* speeds = "";
  std::int64_t stale = 0;
  const char* cap = "none";
  const char* stepping = "ideal";
};

class FiniteRun : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr std::int64_t requests = 400;
  [[nodiscard]] static Options options() {
    const Case& c = GetParam();
    Options options;
    options.workers = 4;
    options.slots = 6;
    options.sync = c.sync;
    options.binding = c.binding;
    options.arrivals = c.arrivals;
    options.decode_growth = c.growth;
    options.kv_tokens = c.kv_tokens;
    options.step_preset = c.preset;
    options.speeds = c.speeds;
    options.stale_steps = c.stale;
    options.overtake_cap = c.cap;
    options.stepping = c.stepping;
    options.prompts = "lognormal:300:1.2:2000";
    options.outputs = "lognormal:60:0.9:500";
    options.requests = requests;
    options.steps = 0;
    return options;
  }
};

TEST_P(FiniteRun, EveryRequestIsServedWholeAndNothingIsLeft) {
  const Setting setting = parsed_or_fail(options());
  RequestSequence sequence(setting.lengths, 2);
  double prompts = 0;
  double outputs = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    const Request request = sequence.next();
    prompts += static_cast<double>(request.prompt);
    outputs += static_cast<double>(request.output);
  }
  for (const char* policy :
       {"least_requests", "least_tokens", "least_wait", "br0", "brh[forecast=oracle]", "balance"}) {
    const RunResult result = run_or_fail(setting, policy, 2);
    EXPECT_EQ(result.metrics.requests, requests) << policy;
    EXPECT_EQ(result.released, static_cast<std::uint64_t>(requests)) << policy;
    EXPECT_EQ(result.left_waiting, 0U) << policy;
    EXPECT_EQ(result.left_in_flight, 0) << policy;
    EXPECT_NEAR(result.metrics.served_mean_prompt, prompts / requests, 1e-9) << policy;
    EXPECT_NEAR(result.metrics.throughput * result.window_s, outputs, 1e-6 * outputs) << policy;
    EXPECT_GT(result.metrics.occupancy, 0.2) << policy;
    EXPECT_LE(result.metrics.occupancy, 1 + 1e-12) << policy;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fleets, FiniteRun,
    ::testing::Values(Case{"in_step"}, Case{"free", false}, Case{"early", true, "early"},
                      Case{"early_free", false, "early"}, Case{"poisson", true, "late", "poisson:2"},
                      Case{"poisson_free", false, "late", "poisson:2"},
                      Case{"growing_by_up_to_4", true, "late", "saturated", 4},
                      Case{"short_of_kv", true, "late", "saturated", 1, 4000},
                      Case{"short_of_kv_and_growing", false, "late", "saturated", 3, 4000},
                      Case{"with_prefill", true, "late", "saturated", 1, std::nullopt, "8b-h100"},
                      Case{"unequal", true, "late", "saturated", 1, std::nullopt, "paper", "1,0.5,2"},
                      Case{"unequal_free", false, "late", "saturated", 1, std::nullopt, "paper", "1,0.5,2"},
                      Case{"stale", true, "late", "saturated", 1, std::nullopt, "paper", "", 7},
                      Case{"capped", true, "late", "saturated", 1, std::nullopt, "paper", "", 0, "5"},
                      Case{"live", true, "late", "saturated", 1, std::nullopt, "paper", "", 0, "none", "live"},
                      Case{"live_free", false, "late", "poisson:2", 1, std::nullopt, "paper", "", 0, "none", "live"},
                      Case{"live_short_of_kv", true, "late", "saturated", 3, 4000, "paper", "", 0, "none", "live"}),
    [](const auto& each) { return each.param.name; });

TEST(PairedSeeds, ASeedHasTheSameRequestsUnderEveryPolicyAndAnotherHasOthers) {
  Options options;
  options.workers = 3;
  options.slots = 4;
  options.sync = true;
  options.outputs = "lognormal:40:0.9";
  options.requests = 200;
  options.steps = 0;
  for (const char* classes : {"", "20:0.1"}) {
    options.classes = classes;
    const Setting setting = parsed_or_fail(options);
    const RunResult fewest = run_or_fail(setting, "least_requests", 5);
    const RunResult random = run_or_fail(setting, "random", 5);
    const RunResult other = run_or_fail(setting, "least_requests", 6);
    EXPECT_EQ(fewest.metrics.served_mean_prompt, random.metrics.served_mean_prompt);
    EXPECT_NEAR(fewest.metrics.throughput * fewest.window_s, random.metrics.throughput * random.window_s, 1e-3);
    EXPECT_NE(fewest.metrics.served_mean_prompt, other.metrics.served_mean_prompt);
  }
}

TEST(OvertakeCap, BoundsHowOftenOneIsOvertaken) {
  Options options;
  options.workers = 4;
  options.slots = 8;
  options.sync = true;
  options.outputs = "lognormal:100:0.9";
  options.steps = 5000;
  const RunResult free = run_or_fail(parsed_or_fail(options), "br0", 1);
  options.overtake_cap = "10";
  const RunResult capped = run_or_fail(parsed_or_fail(options), "br0", 1);
  EXPECT_GT(free.metrics.overtakes_max, 100);
  // Those that are due together are passed by each other: at most the pool more.
  EXPECT_LE(capped.metrics.overtakes_max, 10 + 16);
  EXPECT_GE(capped.metrics.overtakes_max, 10);
}

TEST(KvTokens, RefusesARequestThatWouldBeCutShort) {
  Options options;
  options.sync = true;
  options.prompts = "fixed:3000";
  options.outputs = "fixed:3000";
  options.requests = 3;
  options.steps = 0;
  options.kv_tokens = 4000;  // an engine of this size would end the answers after 1,000 tokens
  const auto cut = run(parsed_or_fail(options), *routing::PolicySpec::parse("least_requests"), 1);
  ASSERT_FALSE(cut.has_value());
  EXPECT_NE(cut.error().message.find("--kv-tokens leaves room for 4000 tokens"), std::string::npos)
      << cut.error().message;
  options.kv_tokens = 6016;
  EXPECT_TRUE(run(parsed_or_fail(options), *routing::PolicySpec::parse("least_requests"), 1).has_value());
}

// A step of a large fleet takes long: it is told of when it ends, not with thousands of others.
TEST(Runs, EachStepOfALargeFleetIsToldOf) {
  for (const std::int64_t slots : {4096, 4}) {
    Setting setting = plain_setting(256, slots, true);
    setting.steps = 5;
    std::vector<std::int64_t> told;
    RunHooks hooks;
    hooks.progress = [&](std::int64_t steps) { told.push_back(steps); };
    const RunResult result = run_or_fail(setting, "round_robin", 1, hooks);
    const std::int64_t steps = result.warm_up_steps + result.measured_steps;
    EXPECT_EQ(std::accumulate(told.begin(), told.end(), std::int64_t{0}), steps);
    EXPECT_EQ(static_cast<std::int64_t>(told.size()), slots == 4096 ? steps : 1);
  }
}

}  // namespace
}  // namespace evenkeel::simulation
