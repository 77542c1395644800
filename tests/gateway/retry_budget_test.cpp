#include "gateway/retry_budget.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.hpp"

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

TEST(RetryBudget, IsAShareOfFirstAttemptsAndAFewAtLeast) {
  for (const double share : {0.05, 0.1, 0.5, 1.0}) {
    RetryBudget budget(share);
    const Time now = Time(seconds(1000));
    for (int i = 0; i < 1000; ++i) budget.first_attempt(busy, now);
    EXPECT_EQ(take_all(budget, busy, now), static_cast<int>(std::lround(1000 * share))) << share;
  }
}

TEST(RetryBudget, OneModelDoesNotSpendWhatAnotherHas) {
  RetryBudget budget(0.1);
  const Time now = Time(seconds(1000));
  for (int i = 0; i < 1000; ++i) budget.first_attempt(busy, now);
  EXPECT_EQ(take_all(budget, quiet, now), allowance);
  EXPECT_EQ(take_all(budget, busy, now), 100);
}

TEST(RetryBudget, WhatIsTakenOrChargedCounts) {
  RetryBudget budget(0.1);
  const Time now = Time(seconds(1000));
  for (int i = 0; i < 100; ++i) budget.first_attempt(busy, now);
  for (int i = 0; i < 8; ++i) budget.charge(busy, now);
  EXPECT_EQ(take_all(budget, busy, now), 10 - 8);
  EXPECT_FALSE(budget.take(busy, now));
}

TEST(RetryBudget, RemembersAMinute) {
  RetryBudget budget(0.5);
  Time now = Time(seconds(1000));
  for (int i = 0; i < 1000; ++i) budget.first_attempt(busy, now);
  now += seconds(59);
  EXPECT_EQ(take_all(budget, busy, now), 500);
  now += seconds(1);  // what was attempted is forgotten, what was retried is not
  EXPECT_EQ(take_all(budget, busy, now), 0);
  now += seconds(3600);
  EXPECT_EQ(take_all(budget, busy, now), allowance);
}

/// Workers that refuse nine of ten for a minute, after a long calm: the worst moment to have saved up retries.
TEST(RetryBudget, InAStormAttemptsStayUnderElevenTenthsOfFirstAttempts) {
  for (const int per_second : {2, 20, 300}) {
    RetryBudget budget(0.1);
    Random random(5);
    Time now = Time(seconds(100'000));
    for (int i = 0; i < 600 * per_second; ++i, now += Duration(seconds(1)) / per_second)
      budget.first_attempt(busy, now);
    now = Time(seconds(100'600));  // whatever was rounded off on the way: minutes are of whole seconds
    int first = 0;
    int attempts = 0;
    for (int i = 0; i < 60 * per_second; ++i, now += Duration(seconds(1)) / per_second) {
      budget.first_attempt(busy, now);
      ++first;
      for (int made = 1; made <= 3; ++made) {
        ++attempts;
        const bool refused = random.below(10) != 0;
        if (!refused || made == 3 || !budget.take(busy, now)) break;
      }
    }
    EXPECT_LE(attempts, first + first / 10) << per_second;
    EXPECT_GE(attempts, first + first / 10 - 3) << per_second;
  }
}

TEST(RetryBudget, AShareOfNothingMeansNoRetries) {
  RetryBudget budget(0);
  for (int i = 0; i < 1000; ++i) budget.first_attempt(busy, Time(seconds(1)));
  EXPECT_FALSE(budget.take(busy, Time(seconds(1))));
}

}  // namespace
}  // namespace evenkeel::gateway
