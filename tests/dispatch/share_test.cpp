// Workers that are other routers': what may be used of them is said, not learned.
#include <array>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;

TEST(Share, LimitsOursAndShowsTheLoadOfOthers) {
  Desk desk;
  const WorkerId far = desk.worker("far", 0);
  const auto first = desk.submit(asking());
  EXPECT_TRUE(first->waits());
  desk.dispatcher.set_share(far, {4, 1, 3});
  EXPECT_EQ(desk.in_flight(far), 1) << "whoever waited enters at once";
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 3);
  const auto second = desk.submit(asking());
  EXPECT_TRUE(second->waits());
}

TEST(Share, OfTimesThatCannotBeIsDroppedWhole) {
  Desk desk;
  const WorkerId far = desk.worker("far", 0);
  desk.dispatcher.set_share(far, {4, 2, 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const WorkerShare& wrong : {WorkerShare{-1, 9, 0}, WorkerShare{9, -1, 0}, WorkerShare{9, 9, -1},
                                   WorkerShare{9, 9, nan}, WorkerShare{9, 9, INFINITY}}) {
    desk.dispatcher.set_share(far, wrong);
    EXPECT_EQ(desk.dispatcher.workers()[0].spec.max_in_flight, 2);
    EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 1);
  }
}

TEST(Share, IsNotForgottenAsAnEnginesReportIs) {
  Desk desk;
  const WorkerId far = desk.worker("far", 0);
  desk.dispatcher.set_share(far, {4, 1, 3});
  desk.pass(seconds(60));
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 3);
}

TEST(Share, EndsWhenTheNameComesBackAsAnotherWorker) {
  Desk desk;
  const WorkerId far = desk.worker("far", 0);
  desk.dispatcher.set_share(far, {4, 1, 3});
  const std::array points = {fleet::RatePoint{1, 50}};
  desk.dispatcher.set_rate(far, points);
  ASSERT_EQ(desk.worker("far", 8), far);
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 0);
  EXPECT_EQ(desk.dispatcher.workers()[0].rate, 0);
}

TEST(Rate, OfWholeAnswersIsThatOfTheTimeTheyWereMadeIn) {
  Desk desk;
  const WorkerId one = desk.worker("one", 4);
  const auto answer = [&](const SlipPtr& slip) {
    slip->lease.settle(Tokens(100), Tokens(111));  // all of it in one piece
    slip->lease.end(fleet::Outcome::completed);
  };
  for (int i = 0; i < 10; ++i) {
    const auto first = desk.submit(asking());
    desk.pass(milliseconds(100));
    const auto second = desk.submit(asking());
    desk.pass(milliseconds(2000));
    answer(first);
    desk.pass(milliseconds(150));
    answer(second);
    desk.pass(seconds(3));
  }
  const auto points = desk.dispatcher.rate_points(one);
  ASSERT_FALSE(points.empty());
  for (const fleet::RatePoint& point : points) {
    EXPECT_NEAR(point.rate, 222 / 2.25, 0.1 * 222 / 2.25) << "at " << point.level;
  }
}

TEST(Rate, ThatIsGivenCountsUntilItIsTakenBack) {
  Desk desk;
  const WorkerId one = desk.worker("one", 4);
  const auto slip = desk.submit(asking());
  for (int i = 0; i < 20; ++i) {  // learned: 100 a second
    slip->lease.generated(Tokens(10));
    desk.pass(milliseconds(100));
  }
  EXPECT_NEAR(desk.dispatcher.workers()[0].rate, 100, 10);
  const std::array points = {fleet::RatePoint{1, 50}, fleet::RatePoint{2, 80}};
  desk.dispatcher.set_rate(one, points);
  EXPECT_EQ(desk.dispatcher.workers()[0].rate, 50);
  const auto second = desk.submit(asking());
  EXPECT_EQ(desk.dispatcher.workers()[0].rate, 80);
  second->lease.end(fleet::Outcome::completed);
  desk.dispatcher.set_rate(one, {});
  EXPECT_NEAR(desk.dispatcher.workers()[0].rate, 100, 10);
}

WorkerId peer_of_four_slots(Desk& desk) {
  WorkerSpec spec{"far", {model_a}, 0};
  spec.peer = true;
  const WorkerId far = desk.dispatcher.add_worker(spec);
  desk.dispatcher.set_state(far, WorkerState::routable);
  desk.dispatcher.set_share(far, {4, 4, 0});
  return far;
}

/// Streams at 100 tokens a second for so long.
void stream(Desk& desk, Slip& slip, int tenths) {
  for (int i = 0; i < tenths; ++i) {
    slip.lease.generated(Tokens(10));
    desk.pass(milliseconds(100));
  }
}

TEST(Rate, ThatAPeerSaysCountsWhileItIsNotFarFromWhatIsSeen) {
  Desk desk;
  const WorkerId far = peer_of_four_slots(desk);
  const auto said = [&](double rate) { desk.dispatcher.set_rate(far, std::array{fleet::RatePoint{1, rate}}); };
  const auto counts = [&] { return desk.dispatcher.workers()[0].rate; };
  said(1e6);
  EXPECT_EQ(counts(), 1e6) << "nothing was seen of it";
  const auto slip = desk.submit(asking());
  stream(desk, *slip, 30);
  EXPECT_NEAR(counts(), 100, 10);
  EXPECT_NEAR(desk.dispatcher.rate_points(far).at(0).rate, 100, 10);
  said(1e6);
  EXPECT_NEAR(counts(), 100, 10) << "and saying it again does not help";
  said(140);
  EXPECT_EQ(counts(), 140);
  said(40);
  EXPECT_NEAR(counts(), 100, 10);
}

TEST(Rate, ThatAPeerSaysIsNotHeldForWrongWhileAnswersComeWhole) {
  Desk desk;
  const WorkerId far = peer_of_four_slots(desk);
  desk.dispatcher.set_rate(far, std::array{fleet::RatePoint{4, 100}});
  const std::vector<SlipPtr> slips = desk.submit(4, asking());
  desk.pass(seconds(10));
  slips[0]->lease.settle(Tokens(100), Tokens(250));  // what all four did in ten seconds is 1,000
  slips[0]->lease.end(fleet::Outcome::completed);
  desk.pass(seconds(1));
  EXPECT_NEAR(desk.dispatcher.workers()[0].rate, 75, 1e-9) << "of three, as it said";
}

TEST(Rate, ThatIsGivenForAnOwnWorkerCountsWhateverIsSeen) {
  Desk desk;
  const WorkerId one = desk.worker("one", 4);
  desk.dispatcher.set_rate(one, std::array{fleet::RatePoint{1, 1000}});
  const auto slip = desk.submit(asking());
  stream(desk, *slip, 30);
  EXPECT_EQ(desk.dispatcher.workers()[0].rate, 1000);
}

TEST(Rate, OfAWorkerThatSlowsIsFollowedWhereTokensStream) {
  Desk desk;
  desk.worker("one", 4);
  const auto slip = desk.submit(asking());
  stream(desk, *slip, 300);
  for (int i = 0; i < 50; ++i) {
    slip->lease.generated(Tokens(2));
    desk.pass(milliseconds(100));
  }
  EXPECT_NEAR(desk.dispatcher.workers()[0].rate, 20, 3);
}

TEST(Rate, ThatItBeginsWithIsLearnedOn) {
  Desk desk;
  const WorkerId one = desk.worker("one", 4);
  const std::array points = {fleet::RatePoint{1, 50}, fleet::RatePoint{2, 80}};
  desk.dispatcher.begin_rate(one, points);
  const auto slip = desk.submit(asking());
  EXPECT_EQ(desk.dispatcher.workers()[0].rate, 50);
  for (int i = 0; i < 50; ++i) {  // the truth: 100 a second
    slip->lease.generated(Tokens(10));
    desk.pass(milliseconds(100));
  }
  const double learned = desk.dispatcher.workers()[0].rate;
  EXPECT_GT(learned, 85) << "five seconds of it outweigh the one it began with";
  EXPECT_LE(learned, 101);
  desk.dispatcher.begin_rate(one, {});
  EXPECT_EQ(desk.dispatcher.workers()[0].rate, 0);
}

}  // namespace
}  // namespace evenkeel::dispatch
