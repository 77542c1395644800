// The learned line against lines that are known because the test makes them.
#include "fleet/step_curve.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::fleet {
namespace {

constexpr StepTime truth{.fixed_s = 0.07, .token_s = 2e-7};

/// One second at that load, with step times that scatter by `noise`.
void watch(StepCurve& curve, double load, Random& random, double noise = 0) {
  const double step_s = truth.of(load) * (1 + noise * (2 * random.unit() - 1));
  curve.observe(load, 1 / step_s, std::chrono::seconds(1));
}

TEST(StepCurve, FindsTheLineWhileTheFleetFills) {
  StepCurve curve;
  Random random(1);
  for (double load = 2'000; load < 200'000; load *= 1.03) watch(curve, load, random, 0.05);
  ASSERT_TRUE(curve.line().known());
  EXPECT_NEAR(curve.line().fixed_s, truth.fixed_s, 0.03 * truth.fixed_s);
  EXPECT_NEAR(curve.line().token_s, truth.token_s, 0.15 * truth.token_s);
  for (const double load : {1e4, 5e4, 2e5}) EXPECT_NEAR(curve.line().of(load), truth.of(load), 0.03 * truth.of(load));
}

TEST(StepCurve, AFullFleetDoesNotForgetHowItFilled) {
  StepCurve curve;
  Random random(2);
  for (double load = 2'000; load < 200'000; load *= 1.03) watch(curve, load, random);
  for (int s = 0; s < 20'000; ++s) watch(curve, 200'000 * (1 + 0.05 * random.unit()), random, 0.1);
  EXPECT_NEAR(curve.line().token_s, truth.token_s, 0.1 * truth.token_s);
}

TEST(StepCurve, OneLoadTellsNoSlope) {
  StepCurve curve;
  Random random(3);
  for (int s = 0; s < 1000; ++s) watch(curve, 100'000 * (1 + 0.1 * random.unit()), random, 0.1);
  EXPECT_FALSE(curve.line().known());
  EXPECT_NEAR(curve.latest_s(), truth.of(105'000), 0.15 * truth.of(105'000));
}

TEST(StepCurve, AGlimpseIsNotBelieved) {
  StepCurve curve;
  curve.observe(1'000, 1, std::chrono::milliseconds(70));
  curve.observe(100'000, 1, std::chrono::milliseconds(90));
  EXPECT_FALSE(curve.line().known());
}

TEST(StepCurve, FollowsAnEngineThatBecomesSlower) {
  StepCurve curve(std::chrono::seconds(60));
  for (int round = 0; round < 20; ++round) {
    for (double load = 10'000; load < 200'000; load *= 1.1) {
      curve.observe(load, 10 / truth.of(load), std::chrono::seconds(10));
    }
  }
  for (int round = 0; round < 60; ++round) {
    for (double load = 10'000; load < 200'000; load *= 1.1) {
      curve.observe(load, 5 / truth.of(load), std::chrono::seconds(10));
    }
  }
  EXPECT_NEAR(curve.line().of(100'000), 2 * truth.of(100'000), 0.02 * truth.of(100'000));
}

TEST(StepCurve, NeitherPartIsEverNegative) {
  StepCurve falling;  // busier steps that are shorter
  StepCurve steep;    // a line that crosses zero at half the load
  for (int s = 0; s < 20; ++s) {
    for (const double load : {1e4, 2e4, 4e4}) {
      falling.observe(load, load / 1e3, std::chrono::seconds(1));
      steep.observe(load, 1 / (1e-6 * (load - 9e3)), std::chrono::seconds(1));
    }
  }
  EXPECT_FALSE(falling.line().known());
  EXPECT_GE(falling.line().fixed_s, 0);
  EXPECT_TRUE(steep.line().known());
  EXPECT_GE(steep.line().fixed_s, 0);
}

TEST(StepCurve, WhatCannotBeIsDropped) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  StepCurve curve;
  for (const double load : {nan, inf, -1.0}) curve.observe(load, 10, std::chrono::seconds(10));
  for (const double steps : {nan, inf, -1.0, 0.0}) curve.observe(1e4, steps, std::chrono::seconds(10));
  curve.observe(1e4, 10, Duration(0));
  EXPECT_EQ(curve.latest_s(), 0);
  EXPECT_FALSE(curve.line().known());
}

}  // namespace
}  // namespace evenkeel::fleet
