// What waits is bounded where arrivals do not look at it.
#include "simulation/backlog.hpp"

#include <string>

#include <gtest/gtest.h>

#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

/// One worker of four slots, 20 tokens a request, a step of 10 ms and a little: 4 / (20 * 10 ms), near 20 a second.
Setting small_fleet() {
  Setting setting = plain_setting(1, 4, true);
  setting.lengths.prompts = TokenLaw::parse("prompts", "fixed:1", 100).value();
  setting.lengths.outputs = TokenLaw::parse("outputs", "fixed:20", 100).value();
  setting.arrivals.kind = Arrivals::Kind::poisson;
  setting.arrivals.most_waiting = 1000;
  setting.steps = 40'000;
  return setting;
}

std::string error_of(const Setting& setting) {
  const auto result = run(setting, routing::PolicySpec{"least_requests", {}}, 1);
  return result ? "" : result.error().message;
}

/// The number that follows these words; -1 if they are not there.
double number_behind(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + words.size()));
}

TEST(Backlog, MoreThanIsServedEndsTheRunAndTellsBothRates) {
  for (const Binding binding : {Binding::late, Binding::early}) {
    Setting setting = small_fleet();
    setting.arrivals.rate_per_s = 200;
    setting.binding = binding;
    const std::string error = error_of(setting);
    ASSERT_TRUE(error.starts_with("--arrivals poisson:200: more than 1,000 requests wait (--max-waiting) after "))
        << error;
    EXPECT_NEAR(number_behind(error, "(--max-waiting) after "), 1000 / (200.0 - 20.0), 0.6);
    EXPECT_NEAR(number_behind(error, " s, as "), 200, 20);
    EXPECT_NEAR(number_behind(error, " a second come and "), 20, 1.5);
    EXPECT_NE(error.find(" a second end at 1 worker of 4 slots. Allowed: "), std::string::npos) << error;
  }
}

TEST(Backlog, WhatIsServedRunsToItsEnd) {
  Setting setting = small_fleet();
  setting.arrivals.rate_per_s = 15;
  EXPECT_EQ(error_of(setting), "");
  setting.arrivals.rate_per_s = 200;  // more than is served, but an end
  setting.arrivals.requests = 1004;
  setting.steps = 0;
  EXPECT_EQ(error_of(setting), "");
}

TEST(Backlog, ABurstOfATraceIsHeldToIt) {
  Setting setting = small_fleet();
  setting.arrivals.kind = Arrivals::Kind::trace;
  setting.lengths.trace = trace_of(std::vector<TraceRow>(1001, TraceRow{5, 1, 1}));
  setting.steps = 0;
  const std::string error = error_of(setting);
  EXPECT_NE(error.find("--arrivals trace: more than 1,000 requests wait"), std::string::npos) << error;
  EXPECT_NE(error.find("501 at once come and 0 at once end"), std::string::npos) << error;
  setting.arrivals.most_waiting = 1001;
  EXPECT_EQ(error_of(setting), "");
}

TEST(Backlog, APoolThatIsKeptFullIsWhatItWasToldToBe) {
  Setting setting = small_fleet();
  setting.arrivals.kind = Arrivals::Kind::saturated;
  setting.arrivals.pool = 3000;
  setting.steps = 100;
  EXPECT_EQ(error_of(setting), "");
}

}  // namespace
}  // namespace evenkeel::simulation
