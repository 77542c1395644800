// A surge of real requests (Azure's conversation trace of 2023) on engines with little memory, in virtual time: without
// the redline every policy drives them to preempt, with it none does.
#include <string>

#include <gtest/gtest.h>

#include "simulation/options.hpp"
#include "simulation/run.hpp"

namespace evenkeel::simulation {
namespace {

Setting surge(const std::string& redline, const std::string& stepping, double level = 0.9999) {
  Options options;
  options.workers = 4;
  options.slots = 128;
  options.step_preset = "8b-h100";
  options.kv_tokens = 24'000;
  options.trace.path = EVENKEEL_SOURCE_DIR "/tests/data/azure-2023-conv.csv.gz";
  options.arrivals = "poisson:40";
  options.requests = 1000;
  options.steps = 0;
  options.stepping = stepping;
  options.redline = redline;
  options.redline_level = level;
  auto parsed = parse_setting(options, 1);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  parsed->setting.redline.heavy.theta = 2;  // nobody is refused: all do the same work
  return parsed->setting;
}

Metrics measured(const Setting& setting, const char* policy) {
  const auto result = run(setting, *routing::PolicySpec::parse(policy), 1);
  EXPECT_TRUE(result.has_value()) << policy << ": " << result.error().message;
  EXPECT_EQ(result->left_in_flight, 0) << policy;
  return result->metrics;
}

constexpr const char* policies[] = {"least_requests", "round_robin", "least_wait", "headroom"};

TEST(RedlineRun, NoPreemptionUnderAnyPolicy) {
  for (const char* policy : policies) {
    EXPECT_GT(measured(surge("off", "live"), policy).preemptions, 50) << policy;
    const Metrics with = measured(surge("on", "live"), policy);
    EXPECT_EQ(with.preemptions, 0) << policy;
    EXPECT_EQ(with.requests, 1000) << policy;
  }
}

/// What is kept free is the price of certainty.
TEST(RedlineRun, AtALowerLevelNoLessIsDoneAndFewAreEverPreempted) {
  for (const char* policy : policies) {
    const Metrics without = measured(surge("off", "live"), policy);
    const Metrics with = measured(surge("on", "live", 0.99), policy);
    EXPECT_LT(with.preemptions, 0.05 * without.preemptions) << policy;
    EXPECT_EQ(with.requests, without.requests) << policy;
    EXPECT_LT(with.makespan_s, 1.03 * without.makespan_s) << policy;
  }
}

TEST(RedlineRun, TheSameBetweenSteps) {
  EXPECT_GT(measured(surge("off", "ideal"), "headroom").preemptions, 50);
  EXPECT_EQ(measured(surge("on", "ideal"), "headroom").preemptions, 0);
}

/// The line that keeps so much free as the redline does on average is safe, too, but must be known beforehand.
TEST(RedlineRun, APublishedLineThatIsTooThinPreempts) {
  Setting thin = surge("published", "live");
  thin.redline.silo = 0.01;
  thin.redline.footprint = redline::FootprintReading::admission;
  EXPECT_GT(measured(thin, "headroom").preemptions, 10);
  Setting thick = surge("published", "live");
  thick.redline.silo = 0.3;
  EXPECT_LT(measured(thick, "headroom").preemptions, 10);
}

TEST(RedlineRun, HeavyRequestsAreRefusedWhileTheFleetIsFrozen) {
  for (const char* stepping : {"ideal", "live"}) {
    Setting setting = surge("on", stepping);
    setting.redline.heavy.theta = 0.1;  // all that may become long
    setting.redline.heavy.heavy_tokens = 300;
    const Metrics result = measured(setting, "headroom");
    EXPECT_GT(result.refused, 50) << stepping;
    EXPECT_EQ(result.refused + result.requests, 1000) << stepping;
    EXPECT_EQ(result.preemptions, 0) << stepping;
  }
}

}  // namespace
}  // namespace evenkeel::simulation
