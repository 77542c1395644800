// Workers that come, go, blink, drain and change while requests run and wait.
#include <algorithm>

#include <gtest/gtest.h>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;
using fleet::Outcome;

TEST(Fleet, TakesNothingToAWorkerBeforeItIsRoutable) {
  Desk desk;
  const WorkerId one = desk.dispatcher.add_worker({"one", {model_a}, 4});
  EXPECT_FALSE(desk.dispatcher.routable(model_a));
  const auto slip = desk.submit(asking());
  EXPECT_TRUE(slip->waits());
  desk.dispatcher.set_state(one, WorkerState::routable);
  EXPECT_TRUE(desk.dispatcher.routable(model_a));
  EXPECT_FALSE(desk.dispatcher.routable(model_b));
  EXPECT_TRUE(slip->placed());
}

TEST(Fleet, PlacesThoseThatWaitOnAWorkerThatJoins) {
  Desk desk;
  desk.worker("one", 1);
  const auto slips = desk.submit(5, asking());
  const WorkerId two = desk.worker("two", 3);
  EXPECT_EQ(desk.in_flight(two), 3);
  EXPECT_TRUE(slips[3]->placed());
  EXPECT_TRUE(slips[4]->waits());
}

TEST(Fleet, TakesNothingNewToAWorkerThatDrainsAndFinishesWhatItHas) {
  for (const WorkerState leaving : {WorkerState::draining, WorkerState::removed, WorkerState::unroutable}) {
    Desk desk;
    const WorkerId one = desk.worker("one", 4);
    const auto running = desk.submit(2, asking());
    desk.dispatcher.set_state(one, leaving);
    const auto next = desk.submit(asking());
    EXPECT_TRUE(next->waits());
    running[0]->lease.generated(Tokens(10));
    EXPECT_EQ(desk.dispatcher.workers()[0].load.generated_tokens, Tokens(10));
    running[0]->lease.end(Outcome::completed);
    running[1]->lease.end(Outcome::completed);
    EXPECT_TRUE(next->waits());
    EXPECT_EQ(desk.in_flight(one), 0);
    EXPECT_TRUE(desk.dispatcher.sound());
  }
}

TEST(Fleet, KnowsAWorkerThatComesBackByItsName) {
  Desk desk;
  const WorkerId one = desk.worker("one", 4);
  const auto old = desk.submit(asking());
  EngineReport report;
  report.running = 40;
  report.kv_used = Tokens(1000);
  report.kv_capacity = Tokens(2000);
  desk.dispatcher.report(one, report);
  desk.dispatcher.set_state(one, WorkerState::removed);
  desk.pass(seconds(3));
  EXPECT_EQ(desk.dispatcher.add_worker({"one", {model_a, model_b}, 7}), one);
  const WorkerStatus back = desk.dispatcher.workers()[0];
  EXPECT_EQ(back.state, WorkerState::unroutable) << "it has to be seen alive first";
  EXPECT_EQ(back.spec.max_in_flight, 7);
  EXPECT_EQ(back.load.in_flight, 1) << "a lease from before still runs and still counts";
  EXPECT_EQ(back.foreign_requests, 0) << "reported by an engine that is gone";
  EXPECT_EQ(back.foreign_tokens, Tokens(0));
  EXPECT_FALSE(back.reported);
  old->lease.end(Outcome::transport_fault);
  EXPECT_EQ(desk.in_flight(one), 0);
  EXPECT_EQ(desk.dispatcher.workers().size(), 1U);
}

TEST(Fleet, NeverCountsBelowZeroWhileAWorkerFlaps) {
  Desk desk;
  const WorkerId one = desk.worker("one", 3);
  const WorkerId two = desk.worker("two", 3);
  Random random(51);
  std::vector<SlipPtr> slips;
  for (int i = 0; i < 3000; ++i) {
    const WorkerId id = random.below(2) == 0 ? one : two;
    constexpr WorkerState states[] = {WorkerState::routable, WorkerState::unroutable, WorkerState::draining,
                                      WorkerState::removed};
    const WorkerState state = states[random.below(4)];
    if (state == WorkerState::removed) (void)desk.dispatcher.add_worker({id == one ? "one" : "two", {model_a}, 3});
    desk.dispatcher.set_state(id, state);
    slips.push_back(desk.submit(asking()));
    if (random.below(2) == 0) slips[random.below(slips.size())]->lease.end(Outcome::worker_fault);
    for (const auto& status : desk.dispatcher.workers()) {
      ASSERT_GE(status.load.in_flight, 0);
      ASSERT_LE(status.load.in_flight, 3);
    }
    desk.pass(milliseconds(50));
  }
  for (const auto& slip : slips) slip->lease.end(Outcome::cancelled);
  for (const auto& status : desk.dispatcher.workers()) EXPECT_EQ(status.load.in_flight, 0);
  EXPECT_TRUE(desk.dispatcher.sound());
}

TEST(Fleet, TakesOneRequestAtATimeToAWorkerOnTrial) {
  Desk desk;
  const WorkerId one = desk.worker("one", 8);
  desk.dispatcher.set_state(one, WorkerState::unroutable);
  const auto slips = desk.submit(3, asking());
  desk.dispatcher.set_state(one, WorkerState::trial);
  EXPECT_EQ(desk.in_flight(one), 1);
  EXPECT_TRUE(desk.dispatcher.routable(model_a));
  slips[0]->lease.end(Outcome::completed);
  EXPECT_EQ(desk.in_flight(one), 1);
  EXPECT_TRUE(slips[1]->placed());
  desk.dispatcher.set_state(one, WorkerState::routable);
  EXPECT_TRUE(slips[2]->placed());
}

TEST(Fleet, CountsALeaseThatNobodyChoseAgainstTheLimitOfTheChosen) {
  Desk desk;
  const WorkerId one = desk.worker("one", 2);
  auto first = desk.dispatcher.lease_at(one, asking());
  auto second = desk.dispatcher.lease_at(one, asking());
  auto third = desk.dispatcher.lease_at(one, asking());
  EXPECT_EQ(desk.in_flight(one), 3);
  const auto slip = desk.submit(asking());
  EXPECT_TRUE(slip->waits());
  first.end(Outcome::completed);
  second.end(Outcome::completed);
  EXPECT_TRUE(slip->placed());
  third.end(Outcome::cancelled);
  slip->lease.end(Outcome::completed);
  EXPECT_EQ(desk.in_flight(one), 0);
}

TEST(Fleet, SaysWhetherARequestMayGoAnywhere) {
  Desk desk;
  const WorkerId one = desk.worker("one", 0);
  Submission ask = asking();
  EXPECT_TRUE(desk.dispatcher.admissible(ask)) << "full is not gone";
  ask.excluded.add(one);
  EXPECT_FALSE(desk.dispatcher.admissible(ask));
  desk.worker("two", 1);
  EXPECT_TRUE(desk.dispatcher.admissible(ask));
}

TEST(Fleet, ServesAModelFromTheMomentAWorkerHasItUntilItHasItNoMore) {
  Desk desk;
  const WorkerId one = desk.worker("one", 4, {model_b});
  const auto slip = desk.submit(asking());
  EXPECT_TRUE(slip->waits());
  desk.dispatcher.set_models(one, {model_a, model_b});
  EXPECT_TRUE(slip->placed());
  desk.dispatcher.set_models(one, {model_b});
  EXPECT_FALSE(desk.dispatcher.routable(model_a));
  EXPECT_TRUE(desk.submit(asking())->waits());
  slip->lease.end(Outcome::completed);
  EXPECT_EQ(desk.in_flight(one), 0);
}

TEST(Fleet, RaisesALimitForThoseThatWait) {
  Desk desk;
  const WorkerId one = desk.worker("one", 1);
  const auto slips = desk.submit(4, asking());
  desk.dispatcher.set_max_in_flight(one, 3);
  EXPECT_TRUE(slips[1]->placed());
  EXPECT_TRUE(slips[2]->placed());
  EXPECT_TRUE(slips[3]->waits());
}

TEST(Fleet, LearnsTheRateOfEachWorkerAtTheConcurrencyItHas) {
  // Two requests at 40 tokens a second each, in steps of 50 ms: 80 a second at a concurrency of two.
  Desk desk;
  desk.worker("one", 4);
  const auto slips = desk.submit(2, asking(1, 0, 0));
  EXPECT_EQ(desk.dispatcher.workers()[0].rate, 0) << "nothing seen, nothing known";
  for (int i = 0; i < 200; ++i) {
    for (const auto& slip : slips) slip->lease.generated(Tokens(2));
    desk.pass(milliseconds(50));
  }
  EXPECT_NEAR(desk.dispatcher.workers()[0].rate, 80, 1);
  slips[0]->lease.end(Outcome::completed);
  for (int i = 0; i < 200; ++i) {  // alone it makes 60
    slips[1]->lease.generated(Tokens(3));
    desk.pass(milliseconds(50));
  }
  EXPECT_NEAR(desk.dispatcher.workers()[0].rate, 60, 1);
  slips[1]->lease.end(Outcome::completed);
  desk.pass(std::chrono::hours(1));  // idle: forgets nothing
  EXPECT_NEAR(desk.dispatcher.workers()[0].rate, 60, 1);
}

TEST(Fleet, CreditsAWorkerWithWhatItDoesForOthersInProportion) {
  // 40 tokens a second for our one request, beside one foreign request: the worker makes 80 for two.
  Desk desk;
  const WorkerId one = desk.worker("one", 4);
  desk.pass(seconds(1));
  const auto slip = desk.submit(asking(1, 0, 0));
  for (int i = 0; i < 400; ++i) {
    EngineReport report;
    report.asked = report.received = desk.clock.now();
    report.running = 2;
    desk.dispatcher.report(one, report);
    slip->lease.generated(Tokens(2));
    desk.pass(milliseconds(50));
  }
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 1);
  EXPECT_NEAR(desk.dispatcher.workers()[0].rate, 80, 2);
  slip->lease.end(Outcome::completed);
}

}  // namespace
}  // namespace evenkeel::dispatch
