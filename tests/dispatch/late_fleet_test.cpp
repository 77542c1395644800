// Late binding on the two boxes as they were measured, against the makespans that an event-by-event computation of the
// same rules gives (bursts of 111 tokens; all splits enumerated for the best).
#include <cmath>

#include <gtest/gtest.h>

#include "dispatch/support/world.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;

constexpr double tokens = 111;

struct Burst {
  double tokens_per_s = 0;
  int spark = 0;  ///< requests that went to the faster box
};

/// A burst of `size` on idle boxes whose rates and lengths have been learned.
Burst burst(std::string_view policy, int size) {
  DispatcherOptions patient;  // the last of a large burst waits for more than a minute
  patient.pool_timeout = std::chrono::minutes(10);
  World world(thor_and_spark(2), patient, std::move(*routing::make_policy(policy)), 1);
  for (int i = 0; i < 300; ++i) {  // both boxes at one and at two
    for (int n = 0; n < 1 + i % 4; ++n) (void)world.submit(tokens);
    world.run_until_done();
  }
  const std::size_t first = world.jobs.size();
  const Time begun = world.now();
  for (int i = 0; i < size; ++i) (void)world.submit(tokens);
  world.run_until_done();
  Burst out;
  for (std::size_t i = first; i < world.jobs.size(); ++i) out.spark += world.jobs[i].worker == 1 ? 1 : 0;
  out.tokens_per_s = size * tokens / to_seconds(world.now() - begun);
  return out;
}

struct Case {
  int size;
  double late;
  double late_tail;
  int spark;  ///< under late_tail
};

TEST(Late, GivesTheHeadToTheFastestOpenSlotAndTheTailRuleSparesTheSlowOne) {
  for (const Case& of : {Case{4, 101.42, 101.42, 2}, Case{5, 116.06, 116.06, 3}, Case{7, 74.12, 106.29, 5},
                         Case{8, 101.42, 117.09, 6}, Case{12, 131.73, 131.73, 8}, Case{16, 135.23, 135.23, 10},
                         Case{24, 121.70, 131.73, 16}, Case{100, 137.22, 137.22, 64}}) {
    const Burst late = burst("late", of.size);
    const Burst tail = burst("late_tail", of.size);
    EXPECT_NEAR(late.tokens_per_s, of.late, 0.01 * of.late) << of.size;
    EXPECT_NEAR(tail.tokens_per_s, of.late_tail, 0.01 * of.late_tail) << of.size;
    EXPECT_EQ(tail.spark, of.spark) << of.size;
  }
}

TEST(LateTail, ARequestThatMayUseTheSlowBoxOnlyIsNotHeldForTheFastOne) {
  World world(thor_and_spark(2), {}, std::move(*routing::make_policy("late_tail")), 1);
  for (int i = 0; i < 300; ++i) {
    for (int n = 0; n < 1 + i % 4; ++n) (void)world.submit(tokens);
    world.run_until_done();
  }
  Submission what = asking();
  what.excluded.add(WorkerId{1});
  EXPECT_TRUE(world.desk.submit(what)->placed());
}

TEST(LateTail, NobodyIsHeldForEver) {
  World world(thor_and_spark(2), {}, std::move(*routing::make_policy("late_tail")), 3);
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    world.run_until(world.now() + from_seconds(random.exponential(1.2)));
    (void)world.submit(std::max(1.0, std::round(random.lognormal(tokens, 1))));
  }
  world.run_until_done();
  for (const World::Job& job : world.jobs) ASSERT_TRUE(job.ended.has_value());
}

}  // namespace
}  // namespace evenkeel::dispatch
