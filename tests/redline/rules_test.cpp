// Leases, populations, refusals and who is taken for heavy.
#include <gtest/gtest.h>

#include "redline/capacity_lease.hpp"
#include "redline/heavy.hpp"
#include "redline/population.hpp"
#include "redline/refusals.hpp"

namespace evenkeel::redline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CapacityLease, RunsOutWithoutSignsOfLifeAndThenTheWorkerIsASilo) {
  CapacityLease lease(seconds(10), WhenCutOff::admit);
  EXPECT_EQ(lease.mode(Time(seconds(0))), LeaseMode::siloed);  // never heard of
  lease.renew(Time(seconds(1)));
  EXPECT_EQ(lease.mode(Time(seconds(1))), LeaseMode::pooled);
  EXPECT_EQ(lease.mode(Time(seconds(11))), LeaseMode::pooled);
  EXPECT_EQ(lease.mode(Time(milliseconds(11001))), LeaseMode::siloed);
}

TEST(CapacityLease, BlocksIfSoWished) {
  CapacityLease lease(seconds(10), WhenCutOff::block);
  lease.renew(Time(seconds(0)));
  EXPECT_EQ(lease.mode(Time(seconds(10))), LeaseMode::pooled);
  EXPECT_EQ(lease.mode(Time(seconds(20))), LeaseMode::blocked);
}

TEST(CapacityLease, ComesBackWithItsOwnDelay) {
  CapacityLease lease(seconds(10), WhenCutOff::admit);
  lease.renew(Time(seconds(0)));
  lease.renew(Time(seconds(30)), seconds(3));  // back after having been cut off
  EXPECT_EQ(lease.mode(Time(seconds(31))), LeaseMode::siloed);
  lease.renew(Time(seconds(32)), seconds(3));
  EXPECT_EQ(lease.mode(Time(seconds(33))), LeaseMode::pooled);
}

TEST(SchmittTrigger, FlipsOnlyAcrossItsBand) {
  SchmittTrigger trigger(0.6, 0.3);
  for (int i = 0; i < 100; ++i) trigger.look(i % 2 == 0 ? 0.55 : 0.35);
  EXPECT_EQ(trigger.flips(), 0U);
  EXPECT_TRUE(trigger.look(0.6));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(trigger.look(i % 2 == 0 ? 0.55 : 0.35));
  EXPECT_FALSE(trigger.look(0.3));
  EXPECT_EQ(trigger.flips(), 2U);
}

TEST(WorkerPopulation, TheThreeRulesDifferOnceTheShareIsHigh) {
  for (const auto rule : {PopulationRule::none, PopulationRule::symmetric, PopulationRule::asymmetric}) {
    WorkerPopulation worker(rule, {0.1, 0.02});
    worker.look(5, 10);
    EXPECT_EQ(worker.bias(Population::immortal, true), 0);  // 0.5 is under the threshold
    worker.look(8, 10);
    const double penalty = rule == PopulationRule::none ? 0 : -0.08;
    EXPECT_DOUBLE_EQ(worker.bias(Population::immortal, true), penalty);
    const double movable = rule == PopulationRule::asymmetric ? 0.02 : penalty;
    EXPECT_DOUBLE_EQ(worker.bias(Population::movable, true), movable);
    if (rule != PopulationRule::asymmetric) continue;
    EXPECT_EQ(worker.bias(Population::movable, false), 0);
  }
}

TEST(PopulationBand, IsWiderThanTheJumpOfOneEvent) {
  EXPECT_DOUBLE_EQ(population_band(1, 100), 0.15);
  EXPECT_DOUBLE_EQ(population_band(2.77, 20.55), 2 * 2.77 / 20.55);
  EXPECT_DOUBLE_EQ(population_band(1, 0), 0.15);
}

/// Nine of ten attempts refused: unbounded retries would multiply traffic up to threefold at three attempts.
TEST(RefusalComposition, KeepsAttemptsUnderElevenTenthsOfFirstAttempts) {
  Random random(1);
  RefusalComposition rules;
  constexpr int requests = 20000;
  int attempts = 0;
  for (int i = 0; i < requests; ++i) {
    rules.first_attempt();
    for (int made = 1;; ++made) {
      ++attempts;
      const bool refused = random.below(10) != 0;
      if (!refused || !rules.may_retry(made, false)) break;
      ASSERT_LE(made, 2);
    }
  }
  EXPECT_LE(attempts, requests * 11 / 10);
  EXPECT_GT(attempts, requests * 108 / 100);  // and they are made use of
}

TEST(RefusalComposition, RetriesNothingWhileTheFleetIsFrozen) {
  RefusalComposition rules;
  for (int i = 0; i < 100; ++i) rules.first_attempt();
  EXPECT_FALSE(rules.may_retry(1, true));
  EXPECT_TRUE(rules.may_retry(1, false));
}

TEST(RefusalComposition, SavesNoMoreThanAFewRetries) {
  RefusalComposition rules;
  for (int i = 0; i < 100000; ++i) rules.first_attempt();
  int taken = 0;
  while (rules.may_retry(1, false)) ++taken;
  EXPECT_EQ(taken, 3);
}

TEST(RefusalComposition, PausesFullyJitteredAndDoubled) {
  Random random(2);
  const RefusalRules rules{3, milliseconds(10), milliseconds(300), seconds(1)};
  const RefusalComposition composition(rules);
  for (const int made : {1, 2, 3}) {
    const double most = std::min(1.0, 0.15 * (1 << made));  // Delta / 2 is more than two round trips
    double sum = 0;
    for (int i = 0; i < 4000; ++i) {
      const double pause = to_seconds(composition.pause(made, random));
      ASSERT_GE(pause, 0);
      ASSERT_LT(pause, most);
      sum += pause;
    }
    EXPECT_NEAR(sum / 4000, most / 2, 0.02 * most) << made;
  }
}

TEST(HeavyClassifier, BelievesTheBoundThenTheClientThenHistory) {
  HeavyClassifier heavy({1000, 0.5, 16});
  EXPECT_EQ(heavy.prior({100, 0, 1, true}), 1);
  EXPECT_EQ(heavy.prior({100, 0, 1, false}), 0);
  EXPECT_EQ(heavy.prior({100, 1000, 1, {}}), 0);    // it cannot become heavy
  EXPECT_EQ(heavy.prior({100, 1000, 1, true}), 0);  // whatever its client says
  EXPECT_DOUBLE_EQ(heavy.prior({100, 0, 1, {}}), 0.25);
  for (int i = 0; i < 40; ++i) heavy.ended({100, 0, 1, {}}, false, 5000);
  for (int i = 0; i < 40; ++i) heavy.ended({100, 0, 2, {}}, false, 10);
  EXPECT_TRUE(heavy.heavy({100, 0, 1, {}}));
  EXPECT_FALSE(heavy.heavy({100, 0, 2, {}}));
  EXPECT_NEAR(heavy.prior({100, 0, 3, {}}), 0.5, 0.05);  // a stranger is like all
}

TEST(HeavyClassifier, LearnsFromPromptsOfOneLengthForStrangers) {
  HeavyClassifier heavy({1000, 0.5, 16});
  for (int i = 0; i < 60; ++i) {
    heavy.ended({50, 0, 0, {}}, false, 5000);
    heavy.ended({5000, 0, 0, {}}, false, 10);
  }
  EXPECT_TRUE(heavy.heavy({60, 0, 9, {}}));
  EXPECT_FALSE(heavy.heavy({6000, 0, 9, {}}));
}

TEST(HeavyClassifier, CountsWhomItMisrouted) {
  HeavyClassifier heavy({1000, 0.5, 16});
  heavy.ended({100, 0, 1, {}}, true, 10);
  heavy.ended({100, 0, 1, {}}, false, 2000);
  heavy.ended({100, 0, 1, {}}, false, 10);
  heavy.ended({100, 0, 1, {}}, true, 2000);
  EXPECT_EQ(heavy.counts().called_heavy, 1U);
  EXPECT_EQ(heavy.counts().called_light, 1U);
  EXPECT_DOUBLE_EQ(heavy.counts().misrouted(), 0.5);
}

TEST(HeavyClassifier, RemembersABoundedNumberOfClients) {
  HeavyClassifier heavy({1000, 0.5, 16});
  for (std::uint64_t client = 1; client < 10000; ++client) heavy.ended({100, 0, client, {}}, false, 10);
  EXPECT_LT(heavy.prior({100, 0, 9999, {}}), 0.05);
}

}  // namespace
}  // namespace evenkeel::redline
