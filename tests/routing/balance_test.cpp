// balance: fits gaps to the mean of the others, lets nobody be overtaken beyond its deadline, holds only what is worth
// holding.
#include "routing/balance.hpp"

#include <cmath>
#include <deque>

#include <gtest/gtest.h>

#include "routing/support/views.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;
using std::chrono::seconds;

/// Waiting requests with their own ids, in order of arrival.
struct Queue {
  explicit Queue(std::vector<std::uint32_t> of) : candidates(std::move(of)) {}
  fleet::WaitingView& add(std::int64_t prompt, std::uint32_t overtaken = 0, std::uint32_t found = 0) {
    auto& request = waiting.emplace_back(request_for(candidates, prompt));
    request.id = RequestId{waiting.size()};
    request.overtaken = overtaken;
    request.found_waiting = found;
    return request;
  }
  std::vector<std::uint32_t> candidates;
  std::vector<fleet::WaitingView> waiting;
};

void carry(fleet::WorkerView& worker, std::int64_t requests, std::int64_t tokens) {
  worker.load.in_flight = requests;
  worker.load.prompt_tokens = Tokens(tokens);
}

std::vector<fleet::Placement> planned(Policy& policy, const Fleet& fleet, const Queue& queue, Time now = Time{}) {
  Random random(1);
  std::vector<fleet::Placement> placements;
  policy.plan(queue.waiting, fleet.view(), now, random, placements);
  return placements;
}

TEST(Balance, FillsTheGapToTheMeanOfTheOthers) {
  Fleet fleet(3, 4);
  carry(fleet.workers[0], 4, 10'000);
  carry(fleet.workers[1], 4, 14'000);
  carry(fleet.workers[2], 3, 9'000);  // 3,000 below the mean of the others
  Queue queue({2});
  for (const std::int64_t prompt : {500, 5'000, 2'900, 3'200, 12'000}) queue.add(prompt);
  Balance policy({});
  const auto placements = planned(policy, fleet, queue);
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].request, 2U);
  EXPECT_EQ(placements[0].worker, 2U);
  EXPECT_DOUBLE_EQ(placements[0].score, 100);
}

TEST(Balance, ServesTheLightestOpenWorkerFirst) {
  Fleet fleet(3, 4);
  carry(fleet.workers[0], 3, 9'000);
  carry(fleet.workers[1], 3, 2'000);
  carry(fleet.workers[2], 3, 5'000);
  Queue queue({0, 1, 2});
  queue.add(1'000);
  Balance policy({});
  const auto placements = planned(policy, fleet, queue);
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].worker, 1U);
}

TEST(Balance, PlacesOneWhoMayBeOvertakenNoMoreBeforeABetterFit) {
  Fleet fleet(2, 2);
  carry(fleet.workers[0], 2, 6'000);
  carry(fleet.workers[1], 1, 3'000);
  Queue queue({1});
  queue.add(9'000, 4, 0);  // deadline of one who found nobody: 4
  queue.add(3'000);
  Balance policy({});
  const auto placements = planned(policy, fleet, queue);
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].request, 0U);
  EXPECT_EQ(placements[0].reason, "due");
}

TEST(Balance, GivesTheMoreUrgentTheSlotWhateverItsFit) {
  Fleet fleet(2, 2);
  carry(fleet.workers[0], 2, 6'000);
  carry(fleet.workers[1], 1, 3'000);
  Queue queue({1});
  queue.add(40'000).priority = 0;
  queue.add(3'000).priority = 5;
  queue.waiting[1].overtaken = 1'000;
  Balance policy({.hold = false});
  const auto placements = planned(policy, fleet, queue);
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].request, 0U);
}

TEST(Balance, WeighsTokensByWhatTheyCostAWorker) {
  // The second worker needs twice the time for a token: 5,000 tokens weigh there what 10,000 weigh elsewhere.
  Fleet fleet(3, 4);
  for (auto& worker : fleet.workers) worker.step_time = {0.05, 1e-6};
  fleet.workers[1].step_time = {0.05, 2e-6};
  carry(fleet.workers[0], 4, 10'000);
  carry(fleet.workers[1], 3, 3'000);
  carry(fleet.workers[2], 4, 10'000);
  Queue queue({1});
  for (const std::int64_t prompt : {7'000, 4'000, 2'000}) queue.add(prompt);
  Balance policy({});
  const auto placements = planned(policy, fleet, queue);
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].request, 2U);
}

/// Lets the policy see that a worker, here the first, loses a request every 10 s.
void teach_departures(Balance& policy) {
  for (const int at : {0, 10, 20}) {
    fleet::LeaseSummary summary;
    summary.worker = WorkerId{0};
    policy.ended(summary, Time{} + seconds(at));
  }
}

/// Two workers, one slot open on the second; all that waits would lift it far above the first.
struct HoldCase {
  HoldCase() : fleet(2, 2), queue({1}) {
    for (auto& worker : fleet.workers) {
      worker.step_time = {0.05, 1e-6};
      worker.group = 1;
    }
    carry(fleet.workers[0], 2, 100'000);
    carry(fleet.workers[1], 1, 99'000);
    for (int i = 0; i < 4; ++i) queue.add(90'000);
  }
  Fleet fleet;
  Queue queue;
};

TEST(Balance, HoldsASlotThatNobodyFitsButNotForLong) {
  HoldCase held;
  Balance policy({});
  teach_departures(policy);
  EXPECT_TRUE(planned(policy, held.fleet, held.queue, Time{} + seconds(20)).empty());
  EXPECT_TRUE(planned(policy, held.fleet, held.queue, Time{} + seconds(39)).empty());
  EXPECT_EQ(planned(policy, held.fleet, held.queue, Time{} + seconds(40)).size(), 1U);
}

TEST(Balance, HoldsNoSlotWhenToldNotToOrWithoutStepTimesOrABarrierOrForOneWhoIsDue) {
  const Time now = Time{} + seconds(20);
  HoldCase told;
  Balance never({.hold = false});
  teach_departures(never);
  EXPECT_EQ(planned(never, told.fleet, told.queue, now).size(), 1U);

  HoldCase untimed;
  for (auto& worker : untimed.fleet.workers) worker.step_time = {};
  Balance policy({});
  teach_departures(policy);
  EXPECT_EQ(planned(policy, untimed.fleet, untimed.queue, now).size(), 1U);

  HoldCase apart;  // each worker steps by itself: nobody waits for the second
  for (auto& worker : apart.fleet.workers) worker.group = 0;
  EXPECT_EQ(planned(policy, apart.fleet, apart.queue, now).size(), 1U);
  HoldCase elsewhere;  // nobody of its own group is lighter
  elsewhere.fleet.workers[0].group = 2;
  EXPECT_TRUE(planned(policy, elsewhere.fleet, elsewhere.queue, now).empty());

  HoldCase due;
  due.queue.waiting[3].overtaken = 4;
  const auto placements = planned(policy, due.fleet, due.queue, now);
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].request, 3U);
}

TEST(Balance, HoldsNothingThatThePoolIsTooShallowToFill) {
  HoldCase shallow;
  shallow.queue.waiting.resize(1);
  Balance policy({});
  teach_departures(policy);
  EXPECT_EQ(planned(policy, shallow.fleet, shallow.queue, Time{} + seconds(20)).size(), 1U);
}

/// Slots open one at a time on random workers of a full fleet, and requests of very unequal size keep the pool full.
/// Returns the most that anyone was overtaken beyond its deadline.
double worst_excess(Balance& policy, std::uint64_t seed, std::size_t pool, int admissions) {
  Random random(seed);
  Fleet fleet(4, 1);
  for (auto& worker : fleet.workers) {
    worker.step_time = {0.05, 2e-7};
    worker.group = 1;
  }
  std::deque<fleet::WaitingView> waiting;
  const auto candidates = fleet.all();
  std::uint64_t next = 0;
  double worst = -1e9;
  Time now{};
  const auto draw = [&] { return Tokens(static_cast<std::int64_t>(random.lognormal(3000, 2)) + 1); };
  for (auto& worker : fleet.workers) carry(worker, 1, 100'000);
  for (int step = 0; step < admissions; ++step) {
    now += seconds(1);
    while (waiting.size() < pool) {
      auto request = request_for(candidates);
      request.id = RequestId{++next};
      request.prompt_tokens = draw();
      request.found_waiting = static_cast<std::uint32_t>(waiting.size());
      waiting.push_back(request);
    }
    const auto open = random.below(fleet.workers.size());
    fleet::LeaseSummary summary;
    summary.worker = WorkerId{static_cast<std::uint32_t>(open)};
    policy.ended(summary, now);
    carry(fleet.workers[open], 0, 100'000 - static_cast<std::int64_t>(random.below(20'000)));
    const std::vector<fleet::WaitingView> shown(waiting.begin(), waiting.end());
    std::vector<fleet::Placement> placements;
    policy.plan(shown, fleet.view(), now, random, placements);
    std::vector<bool> entered(waiting.size());
    for (const auto& placement : placements) {
      entered[placement.request] = true;
      for (std::uint32_t i = 0; i < placement.request; ++i) ++waiting[i].overtaken;
      carry(fleet.workers[placement.worker], 1, 100'000);
    }
    for (std::size_t i = waiting.size(); i-- > 0;) {
      worst = std::max(worst, waiting[i].overtaken - Balance::deadline(waiting[i].found_waiting));
      if (entered[i]) waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return worst;
}

TEST(Balance, NobodyIsOvertakenBeyondItsDeadlineButByThoseDueBefore) {
  for (const bool hold : {true, false}) {
    for (const std::size_t pool : {2U, 8U, 32U, 128U}) {
      Balance policy({.hold = hold});
      // One whose deadline has passed goes next, unless others are due before it; those are overtaken by nobody.
      EXPECT_LT(worst_excess(policy, 7 + pool, pool, 20'000), static_cast<double>(pool)) << pool;
    }
  }
}

TEST(Balance, DeadlineGrowsAsTheFluctuationOfAQueue) {
  EXPECT_DOUBLE_EQ(Balance::deadline(0), 4);
  EXPECT_DOUBLE_EQ(Balance::deadline(100), 94);
  EXPECT_LT(Balance::deadline(1'000), 0.3 * 1'000);
}

}  // namespace
}  // namespace evenkeel::routing
