// The exact law against enumeration and against what is published of it; the experiment against the law.
#include "simulation/herding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "simulation/fleet_experiment.hpp"
#include "simulation/snapshot_policy.hpp"

namespace evenkeel::simulation {
namespace {

double binomial(int n, int k) {
  return k > n ? 0 : std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
}

TEST(RankProbabilities, AreThoseOfTheBestOfASampleWithoutReplacement) {
  for (const int d : {1, 2, 3, 8, 31, 32}) {
    const auto law = rank_probabilities(32, d);
    ASSERT_EQ(law.size(), 32U);
    EXPECT_NEAR(std::accumulate(law.begin(), law.end(), 0.0), 1, 1e-12);
    for (int r = 0; r < 32; ++r) {
      EXPECT_NEAR(law[static_cast<std::size_t>(r)], (binomial(32 - r, d) - binomial(31 - r, d)) / binomial(32, d), 1e-9)
          << d << ' ' << r;
    }
  }
}

TEST(LargestCount, AgreesWithAllSequencesOfASmallCase) {
  const std::array<double, 3> p = {0.5, 0.3, 0.2};
  std::array<double, 6> mass{};
  for (int code = 0; code < 243; ++code) {  // 3^5 sequences
    std::array<int, 3> counts{};
    double probability = 1;
    for (int k = 0, rest = code; k < 5; ++k, rest /= 3) {
      const auto which = static_cast<std::size_t>(rest % 3);
      ++counts[which];
      probability *= p[which];
    }
    mass[static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end()))] += probability;
  }
  const auto cdf = largest_count_cdf(p, 5);
  double sum = 0;
  for (std::size_t m = 0; m < mass.size(); ++m) EXPECT_NEAR(cdf[m], sum += mass[m], 1e-12) << m;
}

// Published to three or four digits for 20 admissions on 32 workers.
TEST(LargestCount, HasThePublishedMeans) {
  const std::array<std::pair<int, double>, 7> published = {
      {{1, 2.688}, {2, 3.080}, {3, 3.567}, {4, 4.046}, {8, 5.975}, {16, 10.19}, {32, 20}}};
  for (const auto& [d, mean] : published) {
    const LargestCount law = summary_of(largest_count_cdf(rank_probabilities(32, d), 20));
    EXPECT_NEAR(law.mean, mean, d == 16 ? 0.005 : 0.0005) << d;
    if (d == 2) {
      EXPECT_NEAR(law.sd, 0.774, 0.0005);
      EXPECT_NEAR(law.at_least_ten, 3e-7, 0.5e-7);
    }
  }
}

// The example by hand of Definition 6: of four workers with 0.71, 0.34, 0.58 and 0.12 left the ranks are 0, 2, 1, 3.
TEST(SnapshotPolicy, WinsByRankAndDrawsTies) {
  Random random(5);
  SnapshotPolicy two("headroom", 31.8, 4);
  const std::array<double, 4> left = {0.71 * 31.8, 0.34 * 31.8, 0.58 * 31.8, 0.12 * 31.8};
  std::array<int, 4> wins{};
  for (int i = 0; i < 60'000; ++i) ++wins[two.choose(left, random)];
  EXPECT_NEAR(wins[0], 30'000, 500);
  EXPECT_NEAR(wins[2], 20'000, 500);
  EXPECT_NEAR(wins[1], 10'000, 400);
  EXPECT_EQ(wins[3], 0);
  const std::array<double, 3> equal = {10, 10, 10};
  std::array<int, 3> drawn{};
  SnapshotPolicy all("headroom_argmax", 31.8, 3);
  for (int i = 0; i < 30'000; ++i) ++drawn[all.choose(equal, random)];
  for (const int each : drawn) EXPECT_NEAR(each, 10'000, 400);
  EXPECT_THROW(SnapshotPolicy("headrom", 1, 1), std::invalid_argument);
}

TEST(HerdingExperiment, ArgmaxSendsAllToOneAndTwoFollowTheLaw) {
  ExperimentRun run;
  run.trials = 3000;
  const auto result = run_fleet_experiment(herding_experiment(), run);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->figure("argmax_all_on_one"), 1.0);
  EXPECT_NEAR(result->figure("d2_mean").value(), 3.080, 4 * 0.774 / std::sqrt(3000));
  EXPECT_NEAR(result->figure("d1_mean").value(), 2.688, 4 * 0.7 / std::sqrt(3000));
  EXPECT_FALSE(result->figure("d5_mean").has_value());
}

}  // namespace
}  // namespace evenkeel::simulation
