// What a peer says of itself, true or not, and that nothing hangs on which model it is about: cases E and R.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "simulation/support/peer_boxes.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PeersE1, EveryModelUnderEveryNameIsPlacedAlike) {
  std::vector<std::vector<std::size_t>> placements;
  for (std::uint32_t model = 1; model <= 10; ++model) {
    for (const bool never_shed : {false, true}) {
      PeerRouterOptions options = Boxes::known();
      options.model = ModelId{model};
      Boxes boxes({thor, spark}, options);
      for (const int n : {8, 64, 128, 4, 4, 4}) {
        for (int i = 0; i < n; ++i) boxes.world.submit(at_thor, 111, 1, {}, never_shed);
        boxes.world.run_until_done();
      }
      auto& served = placements.emplace_back();
      for (const PeerRequest& request : boxes.world.requests()) {
        EXPECT_FALSE(request.refused);
        served.push_back(request.served);
      }
      EXPECT_EQ(served, placements.front()) << model;
    }
  }
  EXPECT_EQ(std::count(placements.front().begin(), placements.front().begin() + 8, 1U), 6);
}

TEST(PeersE5, RequestsThatAreCountedRatherThanGeneratedAreDividedByTheSameRule) {
  for (const std::int64_t n : {8, 24, 100}) {
    PeersSetting setting = bursts(n);
    setting.boxes = {Box{{9, 14}}, Box{{20, 38}}};  // embeddings a second
    setting.tokens = 1;
    EXPECT_NEAR(one(setting).tokens_per_s, best_of_all_divisions(setting.boxes, n, 1), 0.005 * 52) << n;
  }
}

TEST(PeersR7, APeerThatClaimsTenThousandSlotsIsSentNoMoreThanItServes) {
  PeerRouterOptions options = Boxes::known();
  options.peers.clamp = 64;
  Boxes boxes({thor, spark}, options);
  boxes.router(1).says().capacity = "10000";
  boxes.world.run_until(Time(seconds(6)));
  EXPECT_EQ(boxes.router(at_thor).peer(1).share(boxes.world.now()).slots, 64);
  EXPECT_NE(boxes.router(at_thor).peer(1).capacity_note(), "");
  const Time begun = boxes.world.now();
  boxes.burst(at_thor, 40);
  ASSERT_TRUE(boxes.world.run_until_done(seconds(600)));
  EXPECT_EQ(boxes.served_by(0) + boxes.served_by(1), 40);
  EXPECT_GE(40 * 111 / to_seconds(boxes.world.now() - begun), 101.42) << "and this box is not left idle";
  boxes.expect_no_engine_overfilled_and_all_books_empty();
}

TEST(PeersR7, APeerWhoseCapacityIsNoNumberServesOneAtATimeAndIsNoSink) {
  for (const std::string said : {"0", "-1", "NaN", "many"}) {
    Boxes boxes({thor, spark});
    boxes.router(1).says().capacity = said;
    boxes.world.run_until(Time(seconds(6)));
    EXPECT_NE(boxes.router(at_thor).peer(1).capacity_note().find("refused"), std::string::npos) << said;
    boxes.burst(at_thor, 24);
    boxes.world.run_until_done();
    EXPECT_EQ(boxes.world.most_running(1), 1) << said;
    EXPECT_LE(boxes.served_by(1), 12) << said;
    EXPECT_EQ(boxes.served_by(0) + boxes.served_by(1), 24) << said;
  }
}

TEST(PeersR8, APeerThatServesAnotherModelIsLeftAloneWithinOneProbeAndComesBackMeasuredAnew) {
  Boxes boxes({thor, spark});
  boxes.router(1).says().measured_at = 100;
  boxes.world.run_until(Time(seconds(6)));
  const auto share = [&] { return boxes.router(at_thor).peer(1).share(boxes.world.now()); };
  ASSERT_EQ(share().slots, 2);
  boxes.router(1).says().served_id = "another";
  boxes.world.run_until(Time(seconds(12)));
  EXPECT_FALSE(share().usable);
  EXPECT_NE(share().why_not.find("served_id"), std::string::npos);
  boxes.burst(at_thor, 8);
  boxes.world.run_until_done();
  EXPECT_EQ(boxes.served_by(1), 0);
  boxes.router(1).says().served_id = "m";
  boxes.world.run_until(boxes.world.now() + seconds(6));
  EXPECT_TRUE(share().usable);
  EXPECT_EQ(share().slots, 1) << "what was measured before does not count";
  boxes.router(1).says().measured_at = 200;
  boxes.world.run_until(boxes.world.now() + seconds(6));
  EXPECT_EQ(share().slots, 2);
}

TEST(PeersR9, APeerThatSaysNoCapacityIsNotCalibratedRatherThanOfOneSlot) {
  PeerRouterOptions options = Boxes::known();
  options.peers.uncalibrated_slots = 2;
  Boxes boxes({thor, spark}, options);
  boxes.router(1).says().capacity.reset();
  boxes.world.run_until(Time(seconds(6)));
  EXPECT_EQ(boxes.router(at_thor).peer(1).share(boxes.world.now()).slots, 2);
  EXPECT_EQ(boxes.router(at_thor).peer(1).capacity_note(), "");
  boxes.burst(at_thor, 4);
  boxes.world.run_until_done();
  EXPECT_EQ(boxes.served_by(1), 2);
}

TEST(Peers, ThatTellTheirLearnedRatesAreKnownBeforeTheyWereUsed) {
  PeerRouterOptions learned;
  learned.known_rates = false;
  Boxes boxes({thor, spark}, learned);
  for (const int n : {1, 2, 8}) {  // its own clients teach it
    for (int i = 0; i < n; ++i) boxes.world.submit(1, 111, 1, 1);
    boxes.world.run_until_done();
  }
  boxes.world.run_until(boxes.world.now() + seconds(6));
  ASSERT_EQ(boxes.served_by(0), 0);
  const auto points = boxes.router(at_thor).dispatcher().rate_points(WorkerId{1});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_NEAR(points[0].rate, 49.24, 0.05 * 49.24);
  EXPECT_NEAR(points[1].rate, 87.82, 0.05 * 87.82);
}

}  // namespace
}  // namespace evenkeel::simulation
