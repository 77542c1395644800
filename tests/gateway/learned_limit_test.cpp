#include "gateway/learned_limit.hpp"

#include <gtest/gtest.h>

namespace evenkeel::gateway {
namespace {

engines::Report preemptions(double total, double running) {
  engines::Report report;
  report.preemptions_total = total;
  report.running = running;
  return report;
}

TEST(LearnedLimit, WhatTheOperatorGaveStands) {
  LearnedLimit limit(64, true);
  bool preempted = false;
  engines::Report report = preemptions(5, 64);
  EXPECT_FALSE(limit.learn(report, preempted));
  report.preemptions_total = 50;
  report.slots = 8;
  EXPECT_FALSE(limit.learn(report, preempted));
  limit.assume(4);
  EXPECT_EQ(limit.value(), 64);
  EXPECT_FALSE(preempted);
}

TEST(LearnedLimit, SlotsThatTheEngineTellsAreTheLimit) {
  LearnedLimit limit(256, false);
  bool preempted = false;
  engines::Report report;
  report.slots = 48;
  EXPECT_TRUE(limit.learn(report, preempted));
  EXPECT_EQ(limit.value(), 48);
  EXPECT_FALSE(limit.learn(report, preempted));
}

TEST(LearnedLimit, FallsWithPreemptionsAndRisesOneByOneUpToWhereItBegan) {
  LearnedLimit limit(100, false);
  bool preempted = false;
  EXPECT_FALSE(limit.learn(preemptions(7, 100), preempted)) << "what happened before we looked";
  EXPECT_TRUE(limit.learn(preemptions(8, 50), preempted));
  EXPECT_TRUE(preempted);
  EXPECT_EQ(limit.value(), 40) << "four fifths of what ran";
  EXPECT_FALSE(limit.learn(preemptions(8, 30), preempted)) << "not full";
  EXPECT_FALSE(preempted);
  for (int expected = 41; expected <= 100; ++expected) {
    EXPECT_TRUE(limit.learn(preemptions(8, expected - 1), preempted));
    EXPECT_EQ(limit.value(), expected);
  }
  EXPECT_FALSE(limit.learn(preemptions(8, 100), preempted));
  EXPECT_TRUE(limit.learn(preemptions(9, 0), preempted));
  EXPECT_EQ(limit.value(), 1) << "never none";
}

TEST(LearnedLimit, ARestartOfTheEngineIsNoPreemption) {
  LearnedLimit limit(100, false);
  bool preempted = false;
  (void)limit.learn(preemptions(50, 10), preempted);
  EXPECT_FALSE(limit.learn(preemptions(0, 10), preempted));
  EXPECT_EQ(limit.value(), 100);
}

TEST(LearnedLimit, WhatWasMeasuredStandsInForWhatIsLearned) {
  LearnedLimit limit(256, false);
  bool preempted = false;
  limit.measured(3);
  EXPECT_EQ(limit.value(), 3);
  engines::Report report;
  report.slots = 16;
  EXPECT_FALSE(limit.learn(report, preempted));
  limit.assume(64);
  report.slots = 32;
  EXPECT_FALSE(limit.learn(report, preempted));
  EXPECT_EQ(limit.value(), 3);
  limit.measured(std::nullopt);
  EXPECT_EQ(limit.value(), 32) << "what the engine told last";
}

TEST(LearnedLimit, EngineThatPreemptsHasFewerThanWasMeasured) {
  LearnedLimit limit(256, false);
  bool preempted = false;
  limit.measured(10);
  EXPECT_FALSE(limit.learn(preemptions(0, 10), preempted));
  EXPECT_TRUE(limit.learn(preemptions(1, 10), preempted));
  EXPECT_TRUE(preempted);
  EXPECT_EQ(limit.value(), 8);
  for (int i = 0; i < 9; ++i) (void)limit.learn(preemptions(1, 10), preempted);
  EXPECT_EQ(limit.value(), 10) << "never over what was measured";
}

TEST(LearnedLimit, WhatWasMeasuredDoesNotOutweighTheOperator) {
  LearnedLimit limit(64, true);
  limit.measured(3);
  EXPECT_EQ(limit.value(), 64);
  limit.measured(std::nullopt);
  EXPECT_EQ(limit.value(), 64);
}

}  // namespace
}  // namespace evenkeel::gateway
