#include "gateway/retry_budget.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace evenkeel::gateway {
namespace {

using std::chrono::seconds;

constexpr ModelId busy{1}, quiet{2};
constexpr int allowance = 3;  // retries that a model has without any recent request

int take_all(RetryBudget& budget, ModelId model, Time now) {
  int taken = 0;
  while (taken < 100000 && budget.take(model, now)) ++taken;
  return taken;
}

TEST(RetryBudget, IsAShareOfFirstAttemptsAboveASmallAllowance) {
  for (const double share : {0.05, 0.1, 0.5, 1.0}) {
    RetryBudget budget(share);
    const Time now = Time(seconds(1000));
    for (int i = 0; i < 1000; ++i) budget.first_attempt(busy, now);
    EXPECT_EQ(take_all(budget, busy, now), allowance + static_cast<int>(std::lround(1000 * share))) << share;
  }
}

TEST(RetryBudget, OneModelDoesNotSpendWhatAnotherHas) {
  RetryBudget budget(0.1);
  const Time now = Time(seconds(1000));
  for (int i = 0; i < 1000; ++i) budget.first_attempt(busy, now);
  EXPECT_EQ(take_all(budget, quiet, now), allowance);
  EXPECT_EQ(take_all(budget, busy, now), allowance + 100);
}

TEST(RetryBudget, WhatIsTakenOrChargedCounts) {
  RetryBudget budget(0.1);
  const Time now = Time(seconds(1000));
  for (int i = 0; i < 100; ++i) budget.first_attempt(busy, now);
  for (int i = 0; i < 8; ++i) budget.charge(busy, now);
  EXPECT_EQ(take_all(budget, busy, now), allowance + 10 - 8);
  EXPECT_FALSE(budget.take(busy, now));
}

TEST(RetryBudget, FadesWithATimeConstantOfAMinute) {
  RetryBudget budget(0.5);
  Time now = Time(seconds(1000));
  for (int i = 0; i < 1000; ++i) budget.first_attempt(busy, now);
  now += seconds(60);
  EXPECT_EQ(take_all(budget, busy, now), allowance + static_cast<int>(std::floor(500 * std::exp(-1.0))));
  now += seconds(3600);  // an hour later both sides are forgotten
  EXPECT_EQ(take_all(budget, busy, now), allowance);
}

TEST(RetryBudget, AShareOfNothingMeansNoRetries) {
  RetryBudget budget(0);
  for (int i = 0; i < 1000; ++i) budget.first_attempt(busy, Time(seconds(1)));
  EXPECT_FALSE(budget.take(busy, Time(seconds(1))));
}

}  // namespace
}  // namespace evenkeel::gateway
