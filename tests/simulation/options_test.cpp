#include "simulation/options.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

struct Wrong {
  std::function<void(Options&)> set;
  std::string says;
};

TEST(Options, WhatIsWrongIsNamedWithWhatIsAllowed) {
  const std::vector<Wrong> cases = {
      {[](Options& o) { o.workers = 0; }, "--workers is 0: allowed are 1 to 1024"},
      {[](Options& o) { o.slots = -3; }, "--slots is -3: allowed are 1 to 65536"},
      {[](Options& o) { o.step_preset = "papier"; },
       "--step-preset: no engine preset is named \"papier\", did you mean paper"},
      {[](Options& o) { o.law = "70"; }, "--law: \"70\"; allowed: FIXED_MS:TOKEN_US"},
      {[](Options& o) { o.law = "0:1"; }, "--law: FIXED_MS is 0: allowed are 0.001 to 60000"},
      {[](Options& o) { o.law = "1:1001"; }, "--law: TOKEN_US is 1001: allowed are 0 to 1000"},
      {[](Options& o) { o.speeds = "1,fast"; }, "--speeds: \"fast\""},
      {[](Options& o) { o.speeds = "1,1,1,1,1,1,1,1,1"; }, "--speeds has 9 entries"},
      {[](Options& o) { o.speeds = "1,-1"; }, "--speeds: \"-1\"; allowed: numbers from 0.001 to 1000"},
      {[](Options& o) { o.kv_tokens = 3; }, "--kv-tokens is 3: allowed are 16 to 4294967296"},
      {[](Options& o) { o.decode_growth = 17; }, "--decode-growth is 17: allowed are 1 to 16"},
      {[](Options& o) { o.prompts = "gauss:1"; }, "--prompts: length law \"gauss:1\""},
      {[](Options& o) { o.outputs = "fixed:16385"; }, "--outputs: length law \"fixed:16385\" goes up to 16385"},
      {[](Options& o) { o.max_output = 0; }, "--max-output is 0"},
      {[](Options& o) { o.classes = "5:2"; }, "--classes: \"5:2\"; allowed"},
      {[](Options& o) { o.classes = "five"; }, "--classes: \"five\"; allowed: N or N:SPREAD"},
      {[](Options& o) { o.trace.path = "/none/such"; }, "--trace: /none/such"},
      {[](Options& o) { o.arrivals = "often"; }, "--arrivals: \"often\""},
      {[](Options& o) { o.arrivals = "poisson"; }, "wanted is R or --utilisation"},
      {[](Options& o) { o.arrivals = "poisson:0"; }, "--arrivals: R is 0: allowed are"},
      {[](Options& o) { o.arrivals = "trace"; }, "--trace is wanted"},
      {[](Options& o) { o.pool = 0.0; }, "--pool is 0: allowed are"},
      {[](Options& o) { o.pool = o.pool_requests = 4; }, "--pool and --pool-requests contradict"},
      {[](Options& o) { o.pool = 4, o.arrivals = "poisson:1"; }, "only --arrivals saturated keeps a pool full"},
      {[](Options& o) { o.utilisation = 3, o.steps = 100; }, "--utilisation is 3: allowed are 0.01 to 2"},
      {[](Options& o) { o.utilisation = 0.5, o.arrivals = "saturated"; }, "--utilisation is of arrivals at a rate"},
      {[](Options& o) { o.binding = "never"; }, "--binding: \"never\"; allowed: late, early"},
      {[](Options& o) { o.overtake_cap = "-1"; }, "--overtake-cap: \"-1\"; allowed: 0 to 1000000, none"},
      {[](Options& o) { o.max_waiting = 5; }, "--max-waiting: --arrivals saturated keeps as many"},
      {[](Options& o) { o.max_waiting = 0, o.arrivals = "poisson:1"; }, "--max-waiting is 0: allowed are 1 to 1000000"},
      {[](Options& o) { o.trace.slice.time_scale = 2; }, "--time-scale: only --arrivals trace"},
      {[](Options& o) { o.stale_steps = -1; }, "--stale-steps is -1: allowed are 0 to 10000"},
      {[](Options& o) { o.stale_steps = 5; }, "--sync is wanted"},
      {[](Options& o) { o.steps = -1; }, "--steps is -1: allowed are 0 to"},
      {[](Options& o) { o.steps = 0; }, "--steps is 0, which runs to the end"},
      {[](Options& o) { o.requests = -1; }, "--requests is -1"},
  };
  for (const Wrong& each : cases) {
    Options options;
    each.set(options);
    const auto parsed = parse_setting(options, 1);
    ASSERT_FALSE(parsed) << each.says;
    EXPECT_NE(parsed.error().message.find(each.says), std::string::npos) << parsed.error().message;
    EXPECT_TRUE(parsed.error().message.starts_with("--")) << "no flag is named: " << parsed.error().message;
  }
}

TEST(Options, ALongRequestOfATraceIsNamed) {
  Options options;
  options.trace.path = EVENKEEL_SOURCE_DIR "/tests/data/mooncake-conversation.jsonl.gz";
  const auto parsed = parse_setting(options, 1);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("prompt tokens: allowed are up to 65536"), std::string::npos);
  options.trace.slice.cap_prompt = 65'536;
  options.trace.slice.max_requests = 100;
  options.steps = 0;
  const Setting setting = parsed_or_fail(options);
  EXPECT_EQ(setting.lengths.trace->requests.size(), 100U);
  EXPECT_EQ(setting.arrivals.requests, 100U);  // to the end of it
}

TEST(Options, ACapOfNoneIsACapOfNought) {
  for (const char* const cap : {"none", "0", "7"}) {
    Options options;
    options.overtake_cap = cap;
    EXPECT_EQ(parsed_or_fail(options).overtake_cap, cap == std::string("7") ? 7 : 0);
  }
}

TEST(Options, EmptyRequestsOfATraceAreCountedInANote) {
  const std::string path = ::testing::TempDir() + "evenkeel_empty_outputs.csv";
  std::ofstream(path) << "arrival_s,client,prompt_tokens,output_tokens\n0,a,5,0\n1,a,5,3\n2,a,5,0\n3,a,0,1\n";
  Options options;
  options.trace.path = path;
  options.arrivals = "trace";
  options.steps = 0;
  const auto parsed = parse_setting(options, 1);
  std::filesystem::remove(path);
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto& notes = parsed->notes;
  EXPECT_EQ(std::ranges::count(notes, "trace: 2 of 4 requests with 0 output tokens, taken as 1"), 1);
  EXPECT_EQ(std::ranges::count(notes, "trace: 1 of 4 requests with 0 prompt tokens, taken as 1"), 1);
}

TEST(Options, DefaultsAreThePapersSetting) {
  const Setting setting = parsed_or_fail(Options{});
  EXPECT_EQ(setting.workers, 8U);
  EXPECT_EQ(setting.engine.slots, 32);
  EXPECT_EQ(setting.arrivals.pool, 32U);
  EXPECT_NEAR(setting.step_time(0).fixed_s, 0.07, 1e-12);
  EXPECT_NEAR(setting.step_time(0).token_s, 2e-7, 1e-18);
  EXPECT_EQ(setting.overtake_cap, 0);
  EXPECT_TRUE(setting.equal_speeds());
}

// All outputs and prompts alike, and so the step of a full fleet: 10 ms + 8 slots * (100 + 19 / 2) tokens * 1 us.
TEST(Options, AUtilisationBecomesTheRateThatKeepsSoManySlotsInUse) {
  Options options;
  options.workers = 2;
  options.slots = 8;
  options.sync = true;
  options.law = "10:1";
  options.prompts = "fixed:100";
  options.outputs = "fixed:20";
  options.utilisation = 0.5;
  options.steps = 4000;
  const auto parsed = parse_setting(options, 1);
  ASSERT_TRUE(parsed);
  const double step_ms = 10 + 8 * 109.5e-3;
  EXPECT_NEAR(parsed->setting.arrivals.rate_per_s, 0.5 * 16 / (20 * step_ms * 1e-3), 0.3);
  EXPECT_EQ(parsed->notes.size(), 1U);
  const RunResult result = run_or_fail(parsed->setting, "least_requests", 1);
  EXPECT_NEAR(result.metrics.occupancy, 0.5, 0.04);
}

}  // namespace
}  // namespace evenkeel::simulation
