// Boxes that know each other's load late: cases G of the catalogue. Two old rules run in the same harness and do fail,
// so that it is seen to be able to show a failure.
#include <tuple>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "effort.hpp"
#include "simulation/peer_router.hpp"
#include "simulation/support/boxes.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<int, 7> gaps_ms = {0, 50, 250, 500, 1000, 2000, 3000};
constexpr double split_evenly = 101.42;  ///< 444 tokens, two at each box: the slower needs 222 / 50.71 s
constexpr std::int64_t in_a_row = 100;

PeersSetting series(std::int64_t size, int gap_ms, double phase, const Network& network, Exchange exchange) {
  PeersSetting setting = bursts(size, in_a_row);
  setting.gap = milliseconds(gap_ms);
  setting.first_at = from_seconds(5 * phase);  // probes go every five seconds
  setting.network = network;
  setting.exchange = exchange;
  return setting;
}

class PeersG1 : public ::testing::TestWithParam<std::tuple<int, int, Exchange>> {};

TEST_P(PeersG1, NoBurstOfFourIsKeptFromThePeerWhateverTheGapAndThePhaseOfTheProbes) {
  Network network;
  network.probe_round_trip = milliseconds(std::get<0>(GetParam()));
  network.gauge_lag = milliseconds(std::get<1>(GetParam()));
  for (const int gap : gaps_ms) {
    const int phases = effort(50, gap == 0 ? 4 : 2);
    for (int phase = 0; phase < phases; ++phase) {
      const PeersResult result = run(series(4, gap, (phase + 0.5) / phases, network, std::get<2>(GetParam())));
      for (const PeerBurst& burst : result.bursts) {
        ASSERT_EQ(burst.forwarded, 2) << "gap " << gap << " ms, phase " << phase << ", burst " << burst.round;
      }
      EXPECT_EQ(result.suppressed(), 0);
      EXPECT_GE(result.mean_tokens_per_s(), 0.99 * split_evenly);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(GaugesOnly, PeersG1,
                         ::testing::Combine(::testing::Values(0, 20, 110, 500), ::testing::Values(0, 250),
                                            ::testing::Values(Exchange::gauges)));
INSTANTIATE_TEST_SUITE_P(TheirBooks, PeersG1,
                         ::testing::Combine(::testing::Values(0, 20, 110, 500), ::testing::Values(0),
                                            ::testing::Values(Exchange::books)));

/// Suppressed splits in a hundred bursts, over all gaps and some drawn phases each.
double suppressed_by(std::string_view rules, int round_trip_ms, int lag_ms) {
  Network network;
  network.probe_round_trip = milliseconds(round_trip_ms);
  network.gauge_lag = milliseconds(lag_ms);
  Random random(11);
  double sum = 0;
  int count = 0;
  for (const int gap : gaps_ms) {
    for (int i = 0; i < effort(6, 3); ++i, ++count) {
      PeersSetting setting = series(4, gap, random.unit(), network, Exchange::gauges);
      setting.seed = random.next();
      sum += static_cast<double>(run(setting, rules).suppressed());
    }
  }
  return sum / count;
}

TEST(PeersG2, TheOldRulesDoKeepBurstsFromThePeer) {
  const double old = suppressed_by("legacy_0670", 110, 0);
  EXPECT_GE(old, 12);
  EXPECT_LE(old, 45);
  EXPECT_GT(suppressed_by("legacy_0671", 110, 0), 0.2);
  EXPECT_GT(suppressed_by("legacy_0671", 110, 250), suppressed_by("legacy_0671", 110, 0));
  EXPECT_GT(suppressed_by("legacy_0671", 500, 250), 1);
  EXPECT_EQ(suppressed_by("legacy_0671", 0, 0), 0) << "these rules are right only where nothing takes time";
}

TEST(PeersG3, BurstsOfEightBackToBackAllReachTheBest) {
  for (const Exchange exchange : {Exchange::gauges, Exchange::books}) {
    Network network;
    network.probe_round_trip = milliseconds(110);
    network.gauge_lag = milliseconds(exchange == Exchange::gauges ? 250 : 0);
    const PeersResult result = run(series(8, 0, 0.3, network, exchange));
    for (const PeerBurst& burst : result.bursts) ASSERT_EQ(burst.forwarded, 6) << burst.round;
    EXPECT_GE(result.mean_tokens_per_s(), 0.99 * 117.09);
  }
}

/// The pair as a world of its own, for what is more than bursts at one box.
struct Pair {
  explicit Pair(const PeersSetting& setting, std::string_view policy = "late_tail")
      : world(setting.boxes, setting.network) {
    EXPECT_TRUE(set_routers(world, setting, policy).has_value());
  }
  [[nodiscard]] PeerRouter& router(std::size_t box) { return static_cast<PeerRouter&>(world.router(box)); }
  std::size_t burst(std::size_t box, int count, std::int64_t tokens = 111) {
    const std::size_t first = world.requests().size();
    for (int i = 0; i < count; ++i) world.submit(box, tokens);
    return first;
  }
  [[nodiscard]] int served_by(std::size_t box, std::size_t first, std::size_t count) const {
    int served = 0;
    for (std::size_t id = first; id < first + count; ++id) {
      served += world.requests()[id].ended && world.requests()[id].served == box ? 1 : 0;
    }
    return served;
  }
  [[nodiscard]] double wall_s(std::size_t first, std::size_t count) const {
    Time last = Time::min();
    for (std::size_t id = first; id < first + count; ++id) last = std::max(last, *world.requests()[id].ended);
    return to_seconds(last - world.requests()[first].submitted);
  }
  PeerWorld world;
};

class PeersG4 : public ::testing::TestWithParam<Exchange> {};

TEST_P(PeersG4, LoadOfOthersThatEndsJustAfterAProbeKeepsNothingFromThePeer) {
  PeersSetting setting = bursts(4);
  setting.exchange = GetParam();
  setting.network.probe_round_trip = milliseconds(20);
  Pair pair(setting);
  const Duration service = from_seconds(222 / 87.82);
  pair.world.run_until(Time(milliseconds(5060) - service));
  pair.burst(1, 2);  // ends 50 ms after the other box has looked, at 5.01 s
  pair.world.run_until(Time(milliseconds(5110)));
  const std::size_t first = pair.burst(at_thor, 4);
  pair.world.run_until_done();
  EXPECT_EQ(pair.served_by(1, first, 4), 2);
  EXPECT_GE(444 / pair.wall_s(first, 4), 0.95 * split_evenly);
}
INSTANTIATE_TEST_SUITE_P(Both, PeersG4, ::testing::Values(Exchange::gauges, Exchange::books));

TEST(PeersG4, TheOldRulesForwardNothingThen) {
  PeersSetting setting = bursts(4);
  setting.network.probe_round_trip = milliseconds(20);
  Pair pair(setting, "legacy_0671");
  pair.world.run_until(Time(milliseconds(5060) - from_seconds(222 / 87.82)));
  for (int i = 0; i < 2; ++i) pair.world.submit_direct(1, 111);  // its own router would split them
  pair.world.run_until(Time(milliseconds(5110)));
  const std::size_t first = pair.burst(at_thor, 4);
  pair.world.run_until_done();
  EXPECT_EQ(pair.served_by(1, first, 4), 0);
}

TEST(PeersG5, LastingLoadAtThePeersEngineIsNotAddedTo) {
  PeersSetting setting = bursts(8);
  setting.exchange = Exchange::gauges;
  setting.network.probe_round_trip = milliseconds(20);
  Pair pair(setting);
  for (int i = 0; i < 2; ++i) pair.world.submit_direct(1, 5000);  // a hundred seconds, past all routers
  pair.world.run_until(Time(seconds(6)));
  const std::size_t first = pair.burst(at_thor, 8);
  pair.world.run_until_done();
  EXPECT_EQ(pair.served_by(at_thor, first, 8), 8);
  EXPECT_LE(pair.world.most_queued(1), 1);
  EXPECT_NEAR(8 * 111 / pair.wall_s(first, 8), 50.71, 0.5) << "and nothing waits for it";
}

TEST(PeersG5, LastingLoadOfThePeersOwnClientsIsNotAddedTo) {
  PeersSetting setting = bursts(8);
  Pair pair(setting);
  bool more = true;
  pair.world.on_done = [&](std::size_t id) {
    if (more && pair.world.requests()[id].entered == 1)
      pair.world.after(Duration(0), [&] { pair.world.submit(1, 111); });
  };
  pair.burst(1, 6);  // always six there: two in service and four that wait
  pair.world.run_until(Time(seconds(4)));
  const std::size_t first = pair.burst(at_thor, 8);
  pair.world.run_until(Time(seconds(40)));
  more = false;
  pair.world.run_until_done();
  int ended = 0;
  for (std::size_t id = first; id < first + 8; ++id) ended += pair.world.requests()[id].ended ? 1 : 0;
  EXPECT_EQ(ended, 8);
  for (const std::size_t box : {0, 1}) {
    EXPECT_LE(pair.world.most_running(box), 2);
    EXPECT_EQ(pair.world.most_queued(box), 0);
    EXPECT_TRUE(pair.router(box).empty());
  }
}

TEST(PeersG6, BurstsAtBothBoxesAtOnceOverfillNeither) {
  for (const int delay_ms : {0, 20}) {
    PeersSetting setting = bursts(4);
    setting.network.forward_delay = milliseconds(delay_ms);
    Pair pair(setting);
    for (int i = 0; i < 4; ++i) {
      pair.world.submit(0, 111);
      pair.world.submit(1, 111);
    }
    pair.world.run_until_done();
    EXPECT_EQ(pair.served_by(0, 0, 8) + pair.served_by(1, 0, 8), 8);
    for (const PeerRequest& request : pair.world.requests()) EXPECT_LE(request.hops, 1);
    for (const std::size_t box : {0, 1}) {
      EXPECT_LE(pair.world.most_running(box), 2);
      EXPECT_EQ(pair.world.most_queued(box), 0);
      EXPECT_TRUE(pair.router(box).empty());
    }
    EXPECT_GE(888 / pair.wall_s(0, 8), 101.4) << delay_ms;
  }
}

}  // namespace
}  // namespace evenkeel::simulation
