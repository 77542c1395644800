// Boxes whose hosts are busy, that take nothing on, or that refuse: cases F, and of R those in which somebody refuses.
#include <gtest/gtest.h>

#include "simulation/support/peer_boxes.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PeersF2, HostsThatAreBusyServeAllTheSame) {
  for (const int n : {8, 64}) {
    Boxes boxes({thor, spark});
    for (const std::size_t box : {0, 1}) boxes.router(box).says().busy = true;
    boxes.world.run_until(Time(seconds(6)));  // both have heard of it
    ASSERT_TRUE(boxes.router(at_thor).peer(1).busy());
    boxes.burst(at_thor, n);
    boxes.world.run_until_done();
    EXPECT_EQ(boxes.served_by(0) + boxes.served_by(1), n);
    EXPECT_GT(boxes.served_by(1), 0);
    boxes.expect_no_engine_overfilled_and_all_books_empty();
  }
}

TEST(PeersF5, WhereNobodyTakesAnythingOnARequestIsRefusedWithATimeAndSentNowhere) {
  Boxes boxes({thor, spark});
  for (const std::size_t box : {0, 1}) boxes.router(box).set_shedding(true);
  boxes.world.run_until(Time(seconds(6)));
  boxes.burst(at_thor, 4);
  for (std::size_t id = 0; id < 4; ++id) {
    EXPECT_TRUE(boxes.request(id).refused);
    EXPECT_EQ(boxes.request(id).hops, 0);
  }
  const auto& refusal = boxes.router(at_thor).refusal();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->why, fleet::Refusal::pressure);
  EXPECT_EQ(fleet::http_status(refusal->why), 429);
  EXPECT_GT(refusal->retry_after, Duration(0));
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersF5, ARequestThatFindsOutOnlyThereThatNobodyDoesIsRefusedAsWell) {
  Boxes boxes({thor, spark});
  for (const std::size_t box : {0, 1}) boxes.router(box).set_shedding(true);
  boxes.burst(at_thor, 4);  // before any probe
  ASSERT_TRUE(boxes.world.run_until_done(seconds(10)));
  for (std::size_t id = 0; id < 4; ++id) EXPECT_TRUE(boxes.request(id).refused);
  EXPECT_EQ(boxes.router(at_thor).refusal()->why, fleet::Refusal::pressure);
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersF6, WhatIsNeverShedIsServedByABoxThatTakesNothingElseOn) {
  Boxes boxes({thor, spark});
  for (const std::size_t box : {0, 1}) boxes.router(box).set_shedding(true);
  boxes.world.run_until(Time(seconds(6)));
  const std::size_t hand = boxes.world.submit(at_thor, 111, 1, {}, true);
  boxes.world.run_until_done();
  EXPECT_TRUE(boxes.request(hand).ended.has_value());
  EXPECT_EQ(boxes.request(hand).served, at_thor);
}

TEST(PeersF7, ANameThatIsNeverShedChangesNothingWhileNobodyIsUnderPressure) {
  for (const bool never_shed : {false, true}) {
    Boxes boxes({thor, spark});
    for (int i = 0; i < 8; ++i) boxes.world.submit(at_thor, 111, 1, {}, never_shed);
    boxes.world.run_until_done();
    EXPECT_EQ(boxes.served_by(1), 6);
  }
}

TEST(PeersF8, FalsePressureRemovesNobody) {
  Boxes boxes({thor, spark});
  boxes.router(1).says().busy = true;  // waiting for its disks, while its engine is idle
  boxes.world.run_until(Time(seconds(6)));
  const peers::Status said = boxes.router(1).status(at_thor);
  EXPECT_TRUE(said.busy);
  EXPECT_TRUE(said.ready) << "and takes requests on";
  const Time begun = boxes.world.now();
  boxes.burst(at_thor, 4);
  boxes.world.run_until_done();
  EXPECT_EQ(boxes.served_by(0), 2);
  EXPECT_EQ(boxes.served_by(1), 2);
  EXPECT_NEAR(444 / to_seconds(boxes.world.now() - begun), 444 / (222 / 50.71), 0.5);
}

TEST(PeersR1, WhatAPeerRefusesIsServedByTheNext) {
  Boxes boxes({thor, spark, spark});
  boxes.router(1).set_shedding(true);  // and no probe has told
  boxes.burst(at_thor, 8);
  boxes.world.run_until_done();
  EXPECT_EQ(boxes.served_by(1), 0);
  EXPECT_EQ(boxes.served_by(2), 6);
  for (std::size_t id = 0; id < 8; ++id) EXPECT_TRUE(boxes.request(id).ended.has_value());
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersR2, WhatAllPeersRefuseIsRefused) {
  Boxes boxes({Box{}, thor, spark});
  for (const std::size_t box : {1, 2}) boxes.router(box).set_shedding(true);
  boxes.burst(0, 3);
  ASSERT_TRUE(boxes.world.run_until_done(seconds(10)));
  for (std::size_t id = 0; id < 3; ++id) EXPECT_TRUE(boxes.request(id).refused);
  EXPECT_EQ(fleet::http_status(boxes.router(0).refusal()->why), 503);
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersR4, APeerThatTakesNothingOnIsLeftForOneThatIsIdle) {
  Boxes boxes({Box{}, thor, spark});
  boxes.router(1).set_shedding(true);
  boxes.burst(0, 12);
  boxes.world.run_until_done();
  EXPECT_EQ(boxes.served_by(2), 12);
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersR5, WhatCameFromAPeerIsServedWhereItCameToHoweverFreeOthersAre) {
  Network network;
  network.forward_delay = milliseconds(400);  // so long that requests cross
  Boxes boxes({thor, spark, spark}, Boxes::known(), network);
  for (const std::size_t box : {0, 1}) boxes.burst(box, 12);
  boxes.world.run_until_done();
  for (const PeerRequest& request : boxes.world.requests()) {
    EXPECT_TRUE(request.ended.has_value());
    EXPECT_EQ(request.hops, request.served == request.entered ? 0 : 1);
  }
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(Peers, WhatComesBackKeepsItsPlace) {
  // Two boxes fill a third from both sides: of what comes back there, nobody passes those that came before it.
  Network network;
  network.forward_delay = milliseconds(20);
  Boxes boxes({Box{}, Box{}, spark}, Boxes::known(), network);
  for (int i = 0; i < 12; ++i) {
    for (const std::size_t box : {0, 1}) boxes.world.submit(box, 111);
    boxes.world.run_until(boxes.world.now() + milliseconds(5));
  }
  boxes.world.run_until_done();
  for (const std::size_t box : {0, 1}) {
    Time last = Time::min();
    for (const PeerRequest& request : boxes.world.requests()) {
      if (request.entered != box) continue;
      ASSERT_TRUE(request.started.has_value());
      EXPECT_GE(*request.started, last) << "in the order in which they came to box " << box;
      last = *request.started;
    }
  }
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

}  // namespace
}  // namespace evenkeel::simulation
