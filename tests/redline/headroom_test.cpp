// What is left at a worker, as it is corrected and compared.
#include "redline/headroom.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "redline/level_redline.hpp"
#include "redline/sample.hpp"
#include "redline/trigger.hpp"

namespace evenkeel::redline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Amounts amounts(double kv, double slots, double prefill) {
  Amounts all;
  all[Resource::kv_memory] = kv;
  all[Resource::slots] = slots;
  all[Resource::prefill] = prefill;
  return all;
}

TEST(Dominant, IsTheResourceThatIsShortestAfterTheAdmission) {
  const Amounts capacity = amounts(1000, 10, 500);
  const Dominant slots = dominant(capacity, amounts(900, 3, 500), amounts(100, 1, 100));
  EXPECT_EQ(slots.resource, Resource::slots);
  EXPECT_DOUBLE_EQ(slots.fraction, 0.2);
  const Dominant kv = dominant(capacity, amounts(250, 8, 500), amounts(300, 1, 100));
  EXPECT_EQ(kv.resource, Resource::kv_memory);
  EXPECT_DOUBLE_EQ(kv.fraction, -0.05);  // it does not fit
}

TEST(Dominant, PassesOverWhatNobodyKnowsTheCapacityOf) {
  const Dominant known = dominant(amounts(0, 10, 0), amounts(-5, 5, -5), amounts(1, 1, 1));
  EXPECT_EQ(known.resource, Resource::slots);
  EXPECT_DOUBLE_EQ(known.fraction, 0.4);
  EXPECT_DOUBLE_EQ(dominant({}, {}, amounts(1, 1, 1)).fraction, 1);
}

TEST(Corrected, TakesOffWhatGrewAndWhatWasPlacedSince) {
  Snapshot seen;
  seen.headroom = amounts(100, 5, 50);
  seen.growth_per_s = 3;
  seen.stamp = Time(seconds(10));
  const Amounts now = corrected(seen, amounts(20, 1, 20), Time(seconds(14)));
  EXPECT_DOUBLE_EQ(now[Resource::kv_memory], 100 - 12 - 20);
  EXPECT_DOUBLE_EQ(now[Resource::slots], 4);
  EXPECT_DOUBLE_EQ(now[Resource::prefill], 30);
}

TEST(Debits, StandUntilASnapshotFromAfterTheirAcknowledgement) {
  Debits debits;
  debits.placed(RequestId{1}, amounts(10, 1, 0));
  debits.placed(RequestId{2}, amounts(20, 1, 0));
  debits.seen(Time(seconds(100)));  // neither was acknowledged: both may be on the wire
  EXPECT_DOUBLE_EQ(debits.total()[Resource::kv_memory], 30);
  debits.acknowledged(RequestId{1}, Time(seconds(5)));
  debits.seen(Time(seconds(5)));  // of that very instant: may have been taken before
  EXPECT_DOUBLE_EQ(debits.total()[Resource::kv_memory], 30);
  debits.seen(Time(seconds(6)));
  EXPECT_DOUBLE_EQ(debits.total()[Resource::kv_memory], 20);
  debits.forget(RequestId{2});
  EXPECT_EQ(debits.size(), 0U);
  EXPECT_EQ(debits.total()[Resource::kv_memory], 0);
}

TEST(DrawToFront, DrawsEverySetOfDistinctItemsEquallyOften) {
  Random random(5);
  std::vector<int> seen(25);
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    std::vector<int> items = {0, 1, 2, 3, 4};
    ASSERT_EQ(draw_to_front(items, 2, random), 2U);
    ASSERT_NE(items[0], items[1]);
    ASSERT_EQ(std::set(items.begin(), items.end()).size(), 5U);
    ++seen[static_cast<std::size_t>(5 * items[0] + items[1])];
  }
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      if (a == b) continue;
      EXPECT_NEAR(seen[static_cast<std::size_t>(5 * a + b)], draws / 20, 150) << a << b;
    }
  }
}

TEST(LevelRedline, SmoothsOnceForEachFreshSample) {
  LevelRedline line(0.25);
  EXPECT_FALSE(line.crossed(1e9, seconds(1)));  // nothing is known
  EXPECT_TRUE(line.sample(Time(seconds(1)), 100));
  EXPECT_FALSE(line.sample(Time(seconds(1)), 0));  // the same sample again
  EXPECT_DOUBLE_EQ(line.level(), 100);
  EXPECT_TRUE(line.sample(Time(seconds(2)), 60));
  EXPECT_DOUBLE_EQ(line.level(), 90);
  EXPECT_DOUBLE_EQ(line.slope_per_s(), -10);
}

TEST(LevelRedline, SettlesAsPublished) {
  // Observations until a step is followed to 1/e: -1 / ln(1 - eta).
  for (const auto& [eta, settles] : {std::pair{0.05, 19.5}, std::pair{0.10, 9.5}, std::pair{0.25, 3.5}}) {
    LevelRedline line(eta);
    (void)line.sample(Time(seconds(0)), 1);
    int observations = 0;
    while (line.level() > std::exp(-1.0)) (void)line.sample(Time(seconds(++observations)), 0);
    EXPECT_NEAR(observations, settles, 0.6) << eta;
  }
}

TEST(LevelRedline, ActsOnTheSlopeBeforeTheLevelIsThere) {
  LevelRedline line(1);
  (void)line.sample(Time(seconds(0)), 100);
  (void)line.sample(Time(seconds(1)), 80);
  EXPECT_FALSE(line.crossed(50, seconds(1)));  // 60 at the next
  EXPECT_TRUE(line.crossed(50, seconds(2)));   // 40
  EXPECT_TRUE(line.crossed(80, seconds(0)));   // by level
}

TEST(LevelRedline, TakesALateSampleForNoSteeperFallThanItIs) {
  LevelRedline punctual(1), late(1);
  (void)punctual.sample(Time(seconds(0)), 100);
  (void)punctual.sample(Time(seconds(1)), 70);
  (void)late.sample(Time(seconds(0)), 100);
  (void)late.sample(Time(seconds(10)), 70);
  EXPECT_TRUE(punctual.crossed(50, seconds(1)));
  EXPECT_FALSE(late.crossed(50, seconds(1)));
}

TEST(AggregateTrigger, HasABandAndCountsWhatItDid) {
  AggregateTrigger trigger(100, 20);
  const auto with = [](double usable) {
    FleetHeadroom left;
    left.add(usable + 7, 7);
    return left;
  };
  EXPECT_FALSE(trigger.look(with(101)));
  EXPECT_TRUE(trigger.look(with(99)));
  EXPECT_TRUE(trigger.look(with(119)));
  EXPECT_TRUE(trigger.look(with(150), false));  // somebody forbids
  EXPECT_FALSE(trigger.look(with(121)));
  EXPECT_FALSE(trigger.look(with(101)));
  EXPECT_EQ(trigger.freezes(), 1U);
  EXPECT_EQ(trigger.releases(), 1U);
}

TEST(AggregateTrigger, IsNoMinimumAndNoVote) {
  FleetHeadroom left;
  left.add(0, 50);
  left.add(0, 50);
  left.add(300, 50);
  EXPECT_DOUBLE_EQ(left.usable, 250);
  EXPECT_FALSE(AggregateTrigger(200, 1).look(left));
  left.add(40, 50);  // stranded: below its own floor
  EXPECT_DOUBLE_EQ(left.usable, 250);
  EXPECT_NEAR(left.stranded(), 1 - 250.0 / 340, 1e-12);
}

}  // namespace
}  // namespace evenkeel::redline
