// More than bursts at one box of a pair: clients that leave, limits, many boxes, boxes that host nothing or take
// nothing on, lost probes, engines that slow down. Letters and numbers as in peers_burst_test.cpp.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "simulation/support/peer_boxes.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PeersA3, NoEngineEverHasAQueue) {
  for (const int delay_ms : {0, 20, 250}) {
    Network network;
    network.forward_delay = milliseconds(delay_ms);
    Boxes boxes({thor, spark}, Boxes::known(), network);
    for (int round = 0; round < 3; ++round) {
      boxes.burst(at_thor, 64);
      boxes.world.run_until_done();
    }
    EXPECT_EQ(boxes.served_by(0) + boxes.served_by(1), 3 * 64) << delay_ms;
    boxes.expect_no_engine_overfilled_and_all_books_empty();
  }
}

TEST(PeersA4, AHeldRequestWhoseClientLeavesNeverReachesAnEngine) {
  Boxes boxes({thor, spark});
  boxes.burst(at_thor, 12);
  boxes.world.run_until(Time(milliseconds(1)));
  std::vector<std::size_t> left;
  for (std::size_t id = 0; id < 12; ++id) {
    if (boxes.request(id).started) continue;
    boxes.world.cancel(id);
    left.push_back(id);
  }
  ASSERT_EQ(left.size(), 8U);
  boxes.world.run_until_done();
  for (const std::size_t id : left) EXPECT_FALSE(boxes.request(id).started);
  EXPECT_EQ(boxes.served_by(0) + boxes.served_by(1), 4);
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersA4, ARequestInServiceWhoseClientLeavesFreesItsSlotAtOnce) {
  Network network;
  network.forward_delay = milliseconds(20);
  Boxes boxes({thor, spark}, Boxes::known(), network);
  boxes.burst(at_thor, 24);
  boxes.world.run_until(Time(seconds(1)));
  for (const std::size_t box : {0, 1}) {
    const auto& all = boxes.world.requests();
    const auto at = std::find_if(all.begin(), all.end(), [&](const PeerRequest& request) {
      return request.started && request.open() && request.served == box;
    });
    ASSERT_NE(at, all.end());
    const auto started = [&] {
      return std::count_if(all.begin(), all.end(),
                           [&](const PeerRequest& request) { return request.started && request.served == box; });
    };
    const auto before = started();
    boxes.world.cancel(static_cast<std::size_t>(at - all.begin()));
    boxes.world.run_until(boxes.world.now() + milliseconds(100));
    EXPECT_EQ(started(), before + 1) << "the next entered at box " << box;
  }
  boxes.world.run_until_done();
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersA5, WhoFindsThePoolFullIsToldWhenItWillHaveDrained) {
  PeerRouterOptions options = Boxes::known();
  options.pool_requests = 20;
  Boxes boxes({thor, spark}, options);
  boxes.burst(at_thor, 25);
  EXPECT_TRUE(boxes.request(24).refused);
  EXPECT_FALSE(boxes.request(23).refused);
  const auto& refusal = boxes.router(at_thor).refusal();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->why, fleet::Refusal::pool_full);
  const double queued_and_this = 21 * 111;
  EXPECT_NEAR(to_seconds(refusal->retry_after), queued_and_this / (50.71 + 87.82), 0.01);
  boxes.world.run_until_done();
}

TEST(PeersA6, OneRequestOfAnotherClientIsNextHoweverManyAFloodHasWaiting) {
  Boxes boxes({thor, spark});
  boxes.burst(at_thor, 64, 1);
  boxes.world.run_until(Time(seconds(1)));
  const std::size_t lone = boxes.burst(at_thor, 1, 2);
  EXPECT_FALSE(boxes.request(lone).started);
  boxes.world.run_until_done();
  int between = 0;
  for (std::size_t id = 0; id < 64; ++id) {
    between +=
        *boxes.request(id).started > Time(seconds(1)) && *boxes.request(id).started < *boxes.request(lone).started;
  }
  EXPECT_EQ(between, 0) << "the first slot that was released was its";
}

TEST(PeersE4, ThreeAndFiveBoxesAreFilledToNearTheBestDivision) {
  const Box third{{30, 40, 50}};
  for (const auto& many : {std::vector{thor, spark, third}, std::vector{thor, spark, third, spark, slow_thor}}) {
    for (const std::int64_t n : {12, 40, 100}) {
      PeersSetting setting = bursts(n);
      setting.boxes = many;
      const PeerBurst burst = one(setting);
      EXPECT_GE(burst.efficiency(), 0.95) << many.size() << " boxes, " << n;
      EXPECT_EQ(burst.refused, 0);
    }
  }
}

TEST(PeersE4, ARouterWithoutAnEngineSpreadsOverThoseThatHaveOne) {
  PeersSetting setting = bursts(8);
  setting.boxes = {Box{}, thor, spark};
  const PeerBurst burst = one(setting);
  EXPECT_EQ(burst.split, (std::vector<std::int64_t>{0, 2, 6}));
  EXPECT_NEAR(burst.tokens_per_s, best_of_all_divisions({thor, spark}, 8, 111), 0.5);
}

TEST(PeersE4, ABoxByItselfIsServedAsIfThereWereNoPeers) {
  PeersSetting setting = bursts(8);
  setting.boxes = {thor};
  EXPECT_NEAR(one(setting).tokens_per_s, 50.71, 0.01);
}

TEST(PeersF1, SaturationIsNoError) {
  for (const std::int64_t n : {8, 64}) {
    const PeerBurst burst = one(bursts(n));
    EXPECT_EQ(burst.refused, 0);
    EXPECT_EQ(burst.split[0] + burst.split[1], n);
  }
}

TEST(PeersF3, ABoxThatTakesNothingOnForwardsEverything) {
  Boxes boxes({thor, spark});
  boxes.router(at_thor).set_shedding(true);
  boxes.burst(at_thor, 8);
  boxes.world.run_until_done();
  for (std::size_t id = 0; id < 8; ++id) {
    EXPECT_EQ(boxes.request(id).served, 1U);
    EXPECT_EQ(boxes.request(id).reason, peers::RouteReason::local_busy_forwarded);
  }
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersF4, WhileThePeerIsFullARequestOfSuchABoxIsHeldAndThenForwarded) {
  Boxes boxes({thor, spark});
  boxes.burst(1, 2);
  boxes.router(at_thor).set_shedding(true);
  boxes.world.run_until(Time(milliseconds(500)));
  // The peer has sent one of its two here before; what it still has is all it can serve.
  const std::size_t held = boxes.burst(at_thor, 3);
  boxes.world.run_until_done();
  for (std::size_t id = held; id < held + 3; ++id) {
    EXPECT_TRUE(boxes.request(id).ended.has_value());
    EXPECT_EQ(boxes.request(id).served, 1U);
    EXPECT_GT(*boxes.request(id).started, Time(seconds(2))) << "when what was there had ended";
  }
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersD5, AfterSixteenRequestsTheRateWithAllSlotsBusyIsKnownToFivePercent) {
  PeerRouterOptions learned;
  learned.known_rates = false;
  Boxes boxes({thor, spark}, learned);
  int ended = 0;
  boxes.world.on_done = [&](std::size_t) { ++ended; };
  boxes.burst(at_thor, 64);
  while (ended < 16) boxes.world.run_until(boxes.world.now() + milliseconds(100));
  const auto workers = boxes.router(at_thor).dispatcher().workers();
  ASSERT_EQ(workers[0].load.in_flight, 2);
  ASSERT_EQ(workers[1].load.in_flight, 2);
  EXPECT_NEAR(workers[0].rate, 50.71, 0.05 * 50.71);
  EXPECT_NEAR(workers[1].rate, 87.82, 0.05 * 87.82);
}

TEST(PeersD6, ABoxThatSlowsToAQuarterGetsItsNewShareWithinEightCompletions) {
  PeerRouterOptions learned;
  learned.known_rates = false;
  Boxes boxes({thor, spark}, learned);
  std::vector<std::size_t> ended;
  boxes.world.on_done = [&](std::size_t id) { ended.push_back(id); };
  boxes.burst(at_thor, 192);
  while (ended.size() < 64) boxes.world.run_until(boxes.world.now() + milliseconds(100));
  boxes.world.set_rates(1, {49.24 / 4, 87.82 / 4});
  const std::size_t slowed = ended.size();
  while (ended.size() < slowed + 8) boxes.world.run_until(boxes.world.now() + milliseconds(100));
  const auto worker = boxes.router(at_thor).dispatcher().workers()[1];
  ASSERT_EQ(worker.load.in_flight, 2);
  EXPECT_NEAR(worker.rate, 87.82 / 4, 0.05 * 87.82 / 4) << "what it does now is known, too";
  while (ended.size() < slowed + 8 + 60) boxes.world.run_until(boxes.world.now() + milliseconds(100));
  int at_spark = 0;
  for (std::size_t i = slowed + 8; i < slowed + 8 + 60; ++i) at_spark += boxes.request(ended[i]).served == 1 ? 1 : 0;
  const double fair = 87.82 / 4 / (87.82 / 4 + 50.71);
  EXPECT_NEAR(at_spark / 60.0, fair, 0.04);
}

TEST(PeersR10, ProbesThatAreLostRemoveNoPeerThatAnswers) {
  Boxes boxes({thor, spark});
  int lost = 0;
  boxes.world.loses_probe = [&](std::size_t, std::size_t to) { return to == 1 && ++lost % 2 == 1; };
  for (int round = 0; round < 20; ++round) {
    const std::size_t first = boxes.burst(at_thor, 4);
    boxes.world.run_until_done();
    int forwarded = 0;
    for (std::size_t id = first; id < first + 4; ++id) forwarded += boxes.request(id).served == 1 ? 1 : 0;
    EXPECT_EQ(forwarded, 2) << round;
  }
  EXPECT_GT(lost, 5);
}

TEST(PeersR12, APeerThatDoesNotAnswerProbesIsLeftOutAndTheOthersAreNot) {
  Boxes boxes({thor, spark, spark});
  boxes.world.loses_probe = [](std::size_t, std::size_t to) { return to == 2; };
  boxes.world.run_until(Time(seconds(30)));
  EXPECT_FALSE(boxes.router(0).peer(2).share(boxes.world.now()).usable);
  EXPECT_TRUE(boxes.router(0).peer(1).share(boxes.world.now()).usable);
  boxes.burst(at_thor, 8);
  boxes.world.run_until_done();
  EXPECT_EQ(boxes.served_by(1), 6);
  EXPECT_EQ(boxes.served_by(2), 0);
}

TEST(PeersG9, ARequestOfMoreThanNineHundredSecondsIsCountedToItsEnd) {
  Boxes boxes({thor, spark});
  const std::size_t one = boxes.world.submit(at_thor, 100'000, 1, 1);  // two thousand seconds, at the peer
  boxes.world.run_until(Time(seconds(1000)));
  EXPECT_EQ(boxes.router(at_thor).peer(1).open(), 1);
  const std::size_t first = boxes.burst(at_thor, 8);
  boxes.world.run_until(Time(seconds(1020)));
  for (std::size_t id = first; id < first + 8; ++id) EXPECT_TRUE(boxes.request(id).ended.has_value());
  EXPECT_FALSE(boxes.request(one).ended.has_value());
  boxes.world.run_until_done();
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersG8, TenThousandRequestsOfWhichManyLeaveLeaveNothingInAnyBooks) {
  Network network;
  network.forward_delay = milliseconds(30);
  network.probe_round_trip = milliseconds(60);
  PeerRouterOptions options = Boxes::known();
  options.pool_requests = 40;
  Boxes boxes({thor, spark, Box{}, spark}, options, network);
  Random random(5);
  for (int i = 0; i < 10'000; ++i) {
    const std::size_t id = boxes.world.submit(random.below(4), 1 + static_cast<std::int64_t>(random.below(30)));
    boxes.world.run_until(boxes.world.now() + from_seconds(random.exponential(0.05)));
    if (random.below(3) == 0) boxes.world.cancel(id - std::min<std::size_t>(id, random.below(8)));
  }
  ASSERT_TRUE(boxes.world.run_until_done(std::chrono::hours(1)));
  boxes.world.run_until(boxes.world.now() + seconds(1));
  boxes.expect_no_engine_overfilled_and_all_books_empty();
  const auto count = [&](auto what) {
    return std::count_if(boxes.world.requests().begin(), boxes.world.requests().end(), what);
  };
  EXPECT_GT(count([](const PeerRequest& request) { return request.cancelled; }), 1000);
  EXPECT_GT(count([](const PeerRequest& request) { return request.ended.has_value(); }), 5000);
}

}  // namespace
}  // namespace evenkeel::simulation
