// Who is turned away, when, and with which word and time to come back.
#include <algorithm>

#include <gtest/gtest.h>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;
using fleet::Outcome;
using fleet::Refusal;

void expect_polite(const Slip& slip) {
  ASSERT_TRUE(slip.refusal.has_value());
  EXPECT_GT(slip.refusal->retry_after, Duration(0));
  EXPECT_LT(slip.refusal->retry_after, seconds(60));
}

TEST(PoolBound, IsByCountAndCountedBeforeWaiting) {
  DispatcherOptions options;
  options.pool_requests = 5;
  Desk desk(options);
  desk.worker("one", 1);
  const auto slips = desk.submit(12, asking());
  EXPECT_TRUE(slips[0]->placed());
  for (std::size_t i = 1; i <= 5; ++i) EXPECT_TRUE(slips[i]->waits()) << i;
  for (std::size_t i = 6; i < 12; ++i) {
    EXPECT_EQ(slips[i]->why(), Refusal::pool_full) << i;
    expect_polite(*slips[i]);
  }
  EXPECT_EQ(desk.waiters_made, 5) << "nothing is made for one that may not wait";
  slips[0]->lease.end(Outcome::completed);
  EXPECT_TRUE(desk.submit(asking())->waits()) << "one has entered, so one more may wait";
}

TEST(PoolBound, IsOneForAllModels) {
  DispatcherOptions options;
  options.pool_requests = 4;
  Desk desk(options);
  desk.worker("both", 0, {model_a, model_b});
  const auto first = desk.submit(3, asking());
  Submission other = asking();
  other.model = model_b;
  const auto second = desk.submit(3, other);
  EXPECT_TRUE(second[0]->waits());
  EXPECT_EQ(second[1]->why(), Refusal::pool_full);
}

TEST(PoolBound, OfZeroMeansNobodyWaits) {
  DispatcherOptions options;
  options.pool_requests = 0;
  Desk desk(options);
  desk.worker("one", 1);
  const auto slips = desk.submit(2, asking());
  EXPECT_TRUE(slips[0]->placed());
  EXPECT_EQ(slips[1]->why(), Refusal::pool_full);
}

TEST(PoolBound, IsByBytes) {
  DispatcherOptions options;
  options.pool_bytes = Bytes(10000);
  Desk desk(options);
  desk.worker("one", 1);
  Submission big = asking();
  big.bytes = Bytes(4000);
  const auto slips = desk.submit(4, big);
  EXPECT_TRUE(slips[0]->placed()) << "what need not wait is not counted";
  EXPECT_TRUE(slips[2]->waits());
  EXPECT_EQ(slips[3]->why(), Refusal::pool_bytes);
  EXPECT_EQ(desk.dispatcher.pool().bytes, Bytes(8000));
  big.bytes = Bytes(2000);
  EXPECT_TRUE(desk.submit(big)->waits()) << "just full";
  big.bytes = Bytes(1);
  EXPECT_EQ(desk.submit(big)->why(), Refusal::pool_bytes);
  ASSERT_TRUE(desk.dispatcher.cancel(*slips[1]->queued));
  EXPECT_EQ(desk.dispatcher.pool().bytes, Bytes(6000));
}

TEST(Deadline, MissedWhileWorkersAreBusyIsContention) {
  Desk desk;
  desk.worker("one", 1);
  const auto running = desk.submit(asking());
  const auto slip = desk.submit(asking());
  desk.pass(milliseconds(59900));
  EXPECT_TRUE(slip->waits());
  desk.pass(milliseconds(200));
  EXPECT_EQ(slip->why(), Refusal::deadline);
  EXPECT_EQ(http_status(*slip->why()), 429);
  expect_polite(*slip);
  EXPECT_EQ(slip->told, 1);
  EXPECT_EQ(desk.dispatcher.pool().waiting, 0U);
}

TEST(NoWorker, IsSaidAfterTheGraceIfNoneWasEverRoutable) {
  Desk desk;
  const WorkerId dead = desk.dispatcher.add_worker({"dead", {model_a}, 4});
  const auto slip = desk.submit(asking());
  EXPECT_TRUE(slip->waits()) << "it may come up in a moment";
  desk.pass(milliseconds(4900));
  EXPECT_TRUE(slip->waits());
  desk.pass(milliseconds(200));
  EXPECT_EQ(slip->why(), Refusal::no_worker);
  EXPECT_EQ(http_status(*slip->why()), 503);
  expect_polite(*slip);
  const auto lucky = desk.submit(asking());
  desk.pass(seconds(3));
  desk.dispatcher.set_state(dead, WorkerState::routable);
  EXPECT_TRUE(lucky->placed());
}

TEST(NoWorker, IsCountedFromWhenTheLastOneWasLost) {
  Desk desk;
  const WorkerId one = desk.worker("one", 1);
  const auto running = desk.submit(asking());
  const auto slip = desk.submit(asking());
  desk.pass(milliseconds(4950));
  desk.dispatcher.set_state(one, WorkerState::unroutable);
  desk.pass(milliseconds(4900));  // 9.85 s after arrival, but lost for less than five
  EXPECT_TRUE(slip->waits());
  desk.pass(milliseconds(200));
  EXPECT_EQ(slip->why(), Refusal::no_worker);
}

TEST(NoWorker, IsNotSaidBecauseAWorkerBlinks) {
  Desk desk;
  const WorkerId one = desk.worker("one", 1);
  const auto running = desk.submit(asking());
  const auto slip = desk.submit(asking());
  desk.pass(milliseconds(250));
  for (int i = 0; i < 50; ++i) {  // away for half of every second
    desk.dispatcher.set_state(one, WorkerState::unroutable);
    desk.pass(milliseconds(500));
    desk.dispatcher.set_state(one, WorkerState::routable);
    desk.pass(milliseconds(500));
    ASSERT_TRUE(slip->waits()) << i;
  }
}

TEST(NoWorker, ComesBeforeDeadlineWhenNoneIsThereAtTheDeadline) {
  DispatcherOptions options;
  options.pool_timeout = seconds(10);
  options.unroutable_wait = seconds(30);
  Desk desk(options);
  const WorkerId one = desk.worker("one", 1);
  const auto running = desk.submit(asking());
  const auto slip = desk.submit(asking());
  desk.pass(seconds(9));
  desk.dispatcher.set_state(one, WorkerState::draining);
  desk.pass(seconds(2));
  EXPECT_EQ(slip->why(), Refusal::no_worker) << "busy is one thing, gone another";
}

TEST(NoWorker, IsNotCalledALongWait) {
  Desk desk;
  const WorkerId one = desk.worker("one", 1);
  for (int i = 0; i < 40; ++i) {  // a well measured drain ...
    desk.submit(asking())->lease.end(Outcome::completed);
    desk.pass(milliseconds(100));
  }
  desk.dispatcher.set_state(one, WorkerState::unroutable);
  desk.pass(seconds(600));  // ... that has faded away
  const auto first = desk.submit(asking());
  const auto second = desk.submit(asking());
  EXPECT_TRUE(first->waits());
  EXPECT_TRUE(second->waits());
  desk.pass(seconds(6));
  EXPECT_EQ(second->why(), Refusal::no_worker);
}

TEST(AllTried, IsSaidAtOnce) {
  Desk desk;
  Submission retry = asking();
  retry.excluded.add(desk.worker("one", 4));
  retry.excluded.add(desk.worker("two", 4));
  desk.worker("other_model", 4, {model_b});
  const auto slip = desk.submit(retry);
  EXPECT_EQ(slip->why(), Refusal::all_tried);
  EXPECT_EQ(http_status(*slip->why()), 503);
  expect_polite(*slip);
  const WorkerId three = desk.worker("three", 1);
  const auto placed = desk.submit(retry);
  ASSERT_TRUE(placed->placed());
  EXPECT_EQ(placed->lease.worker(), three);
}

TEST(Close, RefusesThoseThatWaitAndThoseThatCome) {
  Desk desk;
  desk.worker("one", 1);
  const auto slips = desk.submit(4, asking());
  desk.dispatcher.close();
  EXPECT_TRUE(slips[0]->placed()) << "what runs may finish";
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(slips[i]->why(), Refusal::shutting_down);
    expect_polite(*slips[i]);
  }
  slips[0]->lease.end(Outcome::completed);
  const auto late = desk.submit(asking());
  EXPECT_EQ(late->why(), Refusal::shutting_down) << "although a slot is free";
  expect_polite(*late);
}

TEST(Cancel, WorksOnceAndOnlyWhileTheRequestWaits) {
  Desk desk;
  desk.worker("one", 1);
  const auto running = desk.submit(asking());
  const auto waiting = desk.submit(asking());
  const auto next = desk.submit(asking());
  EXPECT_FALSE(desk.dispatcher.cancel(running->lease.request()));
  EXPECT_FALSE(desk.dispatcher.cancel(RequestId{1234567}));
  EXPECT_TRUE(desk.dispatcher.cancel(*waiting->queued));
  EXPECT_FALSE(desk.dispatcher.cancel(*waiting->queued));
  running->lease.end(Outcome::completed);
  EXPECT_EQ(waiting->told, 0) << "who cancels is told nothing more";
  EXPECT_TRUE(next->placed()) << "nor does it take a place";
  EXPECT_FALSE(desk.dispatcher.cancel(*next->queued));
  const auto due = desk.submit(asking());
  desk.pass(seconds(61));
  EXPECT_EQ(due->why(), Refusal::deadline);
  EXPECT_FALSE(desk.dispatcher.cancel(*due->queued));
  const auto closed = desk.submit(asking());
  desk.dispatcher.close();
  EXPECT_FALSE(desk.dispatcher.cancel(*closed->queued));
}

/// `per_second` requests end each second for `time`; the pool always has one to follow.
void drain_steadily(Desk& desk, std::vector<SlipPtr>& slips, int per_second, int total) {
  std::size_t next = 0;
  for (int i = 0; i < total; ++i) {
    desk.pass(from_seconds(1.0 / per_second));
    while (!slips[next]->placed()) ++next;
    slips.push_back(desk.submit(asking()));
    slips[next++]->lease.end(Outcome::completed);
  }
}

TEST(RetryAfter, IsTheWaitOfOneMoreAtTheMeasuredDrain) {
  for (const int per_second : {2, 5, 20}) {
    DispatcherOptions options;
    options.pool_requests = 30;
    Desk desk(options);
    desk.worker("one", 4);
    auto slips = desk.submit(33, asking());
    drain_steadily(desk, slips, per_second, 60 * per_second);
    EXPECT_NEAR(desk.dispatcher.pool().drain_per_s, per_second, 0.05 * per_second);
    while (desk.dispatcher.pool().waiting < 30) slips.push_back(desk.submit(asking()));
    const auto refused = desk.submit(asking());
    ASSERT_EQ(refused->why(), Refusal::pool_full);
    const double expected = 31.0 / per_second;
    EXPECT_NEAR(to_seconds(refused->refusal->retry_after), expected, 0.06 * expected) << per_second;
  }
}

TEST(RetryAfter, StaysWithinItsBoundsAtAnyDrain) {
  DispatcherOptions options;
  options.pool_requests = 2000;
  options.pool_timeout = std::chrono::hours(1);
  Desk desk(options);
  desk.worker("one", 1);
  auto slips = desk.submit(2002, asking());
  expect_polite(*slips.back());  // nothing measured
  EXPECT_EQ(slips.back()->refusal->retry_after, seconds(1));
  for (std::size_t i = 0; i < 20; ++i) {  // one in five seconds: 2000 would take hours
    desk.pass(seconds(5));
    slips[i]->lease.end(Outcome::completed);
    (void)desk.submit(asking());
  }
  const auto refused = desk.submit(asking());
  expect_polite(*refused);
}

TEST(WaitTooLong, IsSaidOnlyWhenTheDrainIsMeasured) {
  DispatcherOptions options;
  options.pool_timeout = seconds(20);
  Desk desk(options);
  desk.worker("one", 1);
  auto slips = desk.submit(60, asking());
  for (const auto& slip : slips) EXPECT_FALSE(slip->why().has_value()) << "a guess turns nobody away";
  for (std::size_t i = 0; i < 18; ++i) {
    desk.pass(seconds(1));
    slips[i]->lease.end(Outcome::completed);
  }
  // One a second, 41 wait: the next would miss its 20 s by as much again.
  const auto hopeless = desk.submit(asking());
  EXPECT_EQ(hopeless->why(), Refusal::wait_too_long);
  EXPECT_EQ(http_status(*hopeless->why()), 429);
  expect_polite(*hopeless);
}

TEST(WaitTooLong, IsNotSaidWhileTheWaitIsShort) {
  DispatcherOptions options;
  options.pool_timeout = seconds(20);
  Desk desk(options);
  desk.worker("one", 1);
  auto slips = desk.submit(10, asking());
  drain_steadily(desk, slips, 1, 60);
  EXPECT_TRUE(desk.submit(asking())->waits());
}

/// Long answers end in lumps: four at a time every 40 seconds. Between two lumps nothing ends, and that alone
/// is no sign that nothing will.
TEST(WaitTooLong, IsNotSaidBetweenTheLumpsOfLongAnswers) {
  Desk desk;
  desk.worker("one", 4);
  std::vector<SlipPtr> running = desk.submit(4, asking());
  for (int lump = 0; lump < 10; ++lump) {
    desk.pass(seconds(36));
    auto next = desk.submit(2, asking());
    for (const auto& slip : next) EXPECT_TRUE(slip->waits()) << "lump " << lump;
    desk.pass(seconds(4));
    for (const auto& slip : running) slip->lease.end(Outcome::completed);
    while (next.size() < 4) next.push_back(desk.submit(asking()));
    running = next;
  }
}

TEST(Redline, HeldAreThoseThatWaitBesideAFreeSlotNotThoseThatAreRefused) {
  DispatcherOptions options;
  options.redline.on = true;
  Desk desk(options);
  const WorkerId worker = desk.worker("one", 1000);
  desk.dispatcher.report(worker, {desk.clock.now(), desk.clock.now(), 0, 0, Tokens(0), Tokens(10'000)});
  Submission light = asking();
  light.output_bound = Tokens(100);
  light.heavy = false;
  std::vector<SlipPtr> slips = {desk.submit(light)};
  while (slips.size() < 100 && slips.back()->placed()) slips.push_back(desk.submit(light));
  EXPECT_TRUE(slips.back()->waits()) << "100 tokens of prompt each and some more do not fit into 10,000";
  EXPECT_EQ(desk.dispatcher.redline()->held, 1U);
  desk.pass(milliseconds(100));
  ASSERT_TRUE(desk.dispatcher.frozen(model_a));
  Submission heavy = asking();
  heavy.heavy = true;
  EXPECT_EQ(desk.submit(heavy)->why(), Refusal::redline);
  EXPECT_EQ(desk.dispatcher.redline()->held, 1U);
  const auto second = desk.submit(light);
  EXPECT_TRUE(second->waits());
  EXPECT_EQ(desk.dispatcher.redline()->held, 2U);
}

}  // namespace
}  // namespace evenkeel::dispatch
