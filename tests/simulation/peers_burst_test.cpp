// Bursts on the pair of boxes that was measured. Letter and number are those of the catalogue of cases for such pairs:
// A a peer that takes too little, B the ratio to a box alone, D boxes of unlike speed, H what a report says. "As far as
// a virtual clock goes": what needs sockets is elsewhere.
#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "effort.hpp"
#include "simulation/support/boxes.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

constexpr double exact = 0.005;   ///< share by which virtual time may be off
constexpr double target = 131.6;  ///< 95 percent of both boxes' full rates

TEST(PeersA1, EightRequestsFillBothBoxesAndAllAreServed) {
  const PeerBurst burst = one(bursts(8));
  EXPECT_NEAR(burst.tokens_per_s, best_of_all_divisions({thor, spark}, 8, 111), exact * 117);
  EXPECT_EQ(burst.forwarded, 6);
  EXPECT_EQ(burst.refused, 0);
  EXPECT_EQ(burst.requests, 8);
}

TEST(PeersA1, EightWholeAnswersAreSpreadAsEightStreamsAre) {
  PeersSetting whole = bursts(8);
  whole.streams = false;
  const PeerBurst burst = one(whole);
  EXPECT_NEAR(burst.tokens_per_s, best_of_all_divisions({thor, spark}, 8, 111), exact * 117);
  EXPECT_EQ(burst.forwarded, 6);
}

TEST(PeersD1, WholeAnswersReachNineteenTwentiethsOfBothBoxes) {
  for (const int requests : {16, 24, 64, 128, 256}) {
    PeersSetting whole = bursts(requests);
    whole.streams = false;
    EXPECT_GE(one(whole).tokens_per_s, 131.6) << requests;
  }
}

TEST(PeersB1, EightRequestsAreServedMuchFasterThanByTheBoxTheyCameTo) {
  PeersSetting alone = bursts(8);
  alone.boxes = {thor};
  const double single = one(alone).tokens_per_s;
  EXPECT_NEAR(single, 50.71, exact * 50.71);
  const double pooled = one(bursts(8)).tokens_per_s;
  EXPECT_GE(pooled / single, 1.7);
  EXPECT_NEAR(pooled / single, 2.31, 0.01);
  EXPECT_NEAR(one(bursts(8), "late").tokens_per_s / single, 2.0, 0.01);
}

TEST(PeersB2, FourRequestsAreServedTwiceAsFast) {
  PeersSetting alone = bursts(4);
  alone.boxes = {thor};
  EXPECT_GE(one(bursts(4)).tokens_per_s / one(alone).tokens_per_s, 1.94);
}

TEST(PeersD1, LargeBurstsReachNineteenTwentiethsOfBothBoxes) {
  const PeerBurst burst = one(bursts(128));
  EXPECT_GE(burst.tokens_per_s, target);
  EXPECT_NEAR(burst.tokens_per_s, best_of_all_divisions({thor, spark}, 128, 111), exact * 137);
  EXPECT_NEAR(static_cast<double>(burst.split[1]) / 128, 87.82 / 138.53, 0.02);
  EXPECT_GE(one(bursts(256)).tokens_per_s, 136);
}

TEST(PeersD1, EveryBurstFrom4To300ComesToWithinAHundredthOfTheBestDivision) {
  int short_of_best = 0;
  for (std::int64_t n = 4; n <= 300; n += effort(1, 7)) {
    const PeerBurst burst = one(bursts(n));
    EXPECT_GE(burst.efficiency(), 0.994) << n;
    EXPECT_LE(burst.efficiency(), 1.0001) << n;
    if (burst.efficiency() <= 0.9999) ++short_of_best;
    if (n >= 42) {
      EXPECT_GE(burst.tokens_per_s, target) << n;
    }
  }
  EXPECT_LE(short_of_best, 9) << "of 297";
}

TEST(PeersLate, IsWhatGivingTheHeadToTheFastestOpenSlotComesTo) {
  for (const std::int64_t n : {4, 5, 6, 7, 8, 12, 16, 24, 64, 100, 128}) {
    const double oracle = static_cast<double>(n) * 111 / Fluid({thor, spark}).late(n, 111);
    EXPECT_NEAR(one(bursts(n), "late").tokens_per_s, oracle, exact * oracle) << n;
  }
}

TEST(PeersD1, FromNothingLearnedEveryBurstFrom42To300ComesTo124AndOneOf128To131) {
  for (std::int64_t n = 42; n <= 300; n += effort(1, 43)) {
    PeersSetting setting = bursts(n);
    setting.known_rates = false;
    const double reached = one(setting).tokens_per_s;
    EXPECT_GE(reached, 124) << n;
    if (n == 128) {
      EXPECT_GE(reached, target);
    }
    setting.warm_up = true;
    EXPECT_GE(one(setting).tokens_per_s, target) << n << " after each box was seen with one and with two";
  }
}

std::vector<std::int64_t> drawn_sizes(std::size_t count) {
  std::vector<std::int64_t> sizes;
  std::uint32_t x = 1;
  while (sizes.size() < count) {
    x = (1103515245U * x + 12345U) & 0x7fffffffU;
    sizes.push_back(32 + static_cast<std::int64_t>((x >> 16U) % 481));
  }
  return sizes;
}

TEST(PeersD3, UnequalRequestsReachTheTargetToo) {
  PeersSetting setting = bursts(128);
  setting.sizes = drawn_sizes(128);
  ASSERT_EQ(std::accumulate(setting.sizes.begin(), setting.sizes.end(), std::int64_t{0}), 33139);
  ASSERT_EQ((std::vector<std::int64_t>(setting.sizes.begin(), setting.sizes.begin() + 6)),
            (std::vector<std::int64_t>{35, 499, 44, 231, 299, 368}));
  EXPECT_GE(one(setting).tokens_per_s, target);
  setting.known_rates = false;
  EXPECT_GE(one(setting).tokens_per_s, target);
}

TEST(PeersD4, APairIsNeverSlowerThanItsBetterBoxAlone) {
  for (std::int64_t n = 1; n <= 128; ++n) {
    PeersSetting setting = bursts(n);
    setting.boxes = {slow_thor, late_spark};
    setting.tokens = 155;
    const double alone = static_cast<double>(n) * 155 / Fluid::alone(late_spark, n, 155);
    const PeerBurst burst = one(setting);
    EXPECT_GE(burst.tokens_per_s, alone * (1 - exact)) << n;
    const std::map<std::int64_t, std::int64_t> at_spark = {{4, 4}, {8, 8}, {12, 10}, {32, 26}};
    if (const auto at = at_spark.find(n); at != at_spark.end()) {
      EXPECT_EQ(burst.split[1], at->second) << n;
    }
    if (at_spark.contains(n) || n == 128) {
      EXPECT_NEAR(burst.efficiency(), 1, exact) << n;
    }
  }
}

TEST(PeersD4, TheOldRulesAreSlowerThanTheBetterBoxAlone) {
  PeersSetting setting = bursts(4);
  setting.boxes = {slow_thor, late_spark};
  setting.tokens = 155;
  EXPECT_NEAR(one(setting, "legacy_0671").tokens_per_s, 43.0, exact * 43);
}

TEST(PeersD7, BoxesOfTwoAndEightSlotsOfOneSpeedDivideBySlots) {
  PeersSetting setting = bursts(256);
  setting.boxes = {Box{{40, 80}}, Box{{40, 80, 120, 160, 200, 240, 280, 320}}};
  const PeerBurst burst = one(setting);
  EXPECT_NEAR(static_cast<double>(burst.split[1]) / 256, 0.8, 0.02);
}

TEST(PeersD8, TwoEqualBoxesShareEqually) {
  for (const std::int64_t n : {4, 8}) {
    PeersSetting setting = bursts(n);
    setting.boxes = {spark, spark};
    const PeerBurst burst = one(setting);
    EXPECT_NEAR(burst.tokens_per_s, 2 * 87.82, exact * 2 * 87.82) << n;
    EXPECT_EQ(burst.split[0], burst.split[1]) << n;
  }
}

TEST(PeersD9, SlotsOnlyIgnoresRatesAndSplitsEvenly) {
  EXPECT_EQ(one(bursts(4), "late_tail[slots_only=on]").split, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(one(bursts(8), "late_tail[slots_only=on]").split, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(one(bursts(8), "late_tail[slots_only=off]").split, (std::vector<std::int64_t>{2, 6}));
}

TEST(PeersH1, FourAtOnceAreSplitEvenlyWhichIsTheBest) {
  const PeerBurst burst = one(bursts(4));
  EXPECT_EQ(burst.split, (std::vector<std::int64_t>{2, 2}));
  EXPECT_NEAR(burst.tokens_per_s, 444 / (222 / 50.71), exact * 101);
}

TEST(PeersH2, TheReportedEfficiencyIsNearOne) {
  for (const std::int64_t n : {4, 8, 16, 64, 128}) EXPECT_GE(one(bursts(n)).efficiency(), 0.97) << n;
}

TEST(PeersH3, TheOldRulesSplitEightSixToTwoAndTheReportSaysWhatThatCosts) {
  for (const std::string_view rules : {"legacy_0670", "legacy_0671"}) {
    const PeerBurst burst = one(bursts(8), rules);
    EXPECT_EQ(burst.split, (std::vector<std::int64_t>{6, 2}));
    EXPECT_NEAR(burst.ceiling, 67.61, 0.01);
    EXPECT_NEAR(burst.tokens_per_s, 67.61, exact * 67.61);
    EXPECT_NEAR(burst.efficiency(), 0.577, 0.001);
    EXPECT_FALSE(burst.suppressed);
  }
}

TEST(PeersH4, RequestsThatComeAMomentApartAreSplitAlike) {
  const std::map<std::int64_t, std::int64_t> at_thor_of = {{4, 2}, {8, 2}, {128, 46}};
  for (const auto& [n, here] : at_thor_of) {
    for (const int apart : {1, 5, 20}) {
      PeersSetting setting = bursts(n);
      setting.spacing = std::chrono::milliseconds(apart);
      const PeerBurst burst = one(setting);
      EXPECT_EQ(burst.split[0], here) << n << " requests " << apart << " ms apart";
      if (n == 4) {
        // The box it came to ends last, and its two were the third and the fourth: they start together with the fourth.
        EXPECT_NEAR(burst.tokens_per_s, 444 / (222 / 50.71 + 0.003 * apart), exact * 101) << apart;
      }
      // The box with six ends last, and its first pair runs on its own from the second's coming on.
      if (n == 8) {
        EXPECT_NEAR(burst.tokens_per_s, 117.09, 0.01 * 117.09) << apart;
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::simulation
