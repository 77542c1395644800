#include "maths/change_detector.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::maths {
namespace {

double poisson(double mean, Random& random) {
  double count = -1;
  for (double at = 0; at <= mean; at += random.exponential(1)) ++count;
  return count;
}

TEST(SmoothedRate, SettlesAsItsWeightSays) {
  // Published: 19.5, 9.5 and 3.5 observations at 0.05, 0.10 and 0.25.
  EXPECT_NEAR(SmoothedRate(0.05).settling_windows(), 19.5, 0.05);
  EXPECT_NEAR(SmoothedRate(0.10).settling_windows(), 9.5, 0.05);
  EXPECT_NEAR(SmoothedRate(0.25).settling_windows(), 3.5, 0.05);
  SmoothedRate rate(0.25);
  for (const double count : {8.0, 4.0, 4.0}) rate.add(count);
  EXPECT_DOUBLE_EQ(rate.value(), 4 + 4 * 0.75 * 0.75);
  EXPECT_THROW(SmoothedRate(0), std::invalid_argument);
  EXPECT_THROW(SmoothedRate(1.5), std::invalid_argument);
}

TEST(PoissonCusum, IsTheLogLikelihoodRatioOfTheCounts) {
  PoissonCusum sum(2, 1e9);
  (void)sum.add(9, 4);
  (void)sum.add(7, 4);
  // Densities of 9 and 7 under means 8 and 4; the factorials cancel.
  const double ratio = (16 * std::log(8.0) - 16) - (16 * std::log(4.0) - 8);
  EXPECT_NEAR(sum.sum(), ratio, 1e-12);
  EXPECT_EQ(sum.since(), 2U);
  (void)sum.add(0, 4);
  (void)sum.add(0, 4);
  EXPECT_EQ(sum.sum(), 0);
  EXPECT_EQ(sum.since(), 0U);
}

TEST(PoissonCusum, FalseAlarmsAreAtLeastAsFarApartAsAsked) {
  for (const double factor : {1.5, 1 / 1.5}) {
    Random random(5);
    double windows = 0;
    constexpr int alarms = 100;
    for (int i = 0; i < alarms; ++i) {
      PoissonCusum sum(factor, 100);
      do ++windows;
      while (!sum.add(poisson(20, random), 20));
    }
    EXPECT_GT(windows / alarms, 100) << factor;
  }
}

TEST(PoissonCusum, SeesASixfoldSurgeInTheFirstWindow) {
  Random random(6);
  for (int i = 0; i < 100; ++i) {
    PoissonCusum sum(1.5, 1000);
    for (int calm = 0; calm < 20; ++calm) ASSERT_FALSE(sum.add(20, 20));
    EXPECT_TRUE(sum.add(poisson(120, random), 20));
  }
}

TEST(Stretches, OfOneRateIsMostlyOne) {
  int cut = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    std::vector<double> counts(200);
    for (double& count : counts) count = poisson(30, random);
    cut += stretches_of_rate(counts, {}).size() > 1 ? 1 : 0;
  }
  EXPECT_LE(cut, 10);  // two sides, 200 windows, a thousand windows apart: at most 0.4 a run by the bound
}

TEST(Stretches, CutWhereTheRateChanged) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    std::vector<double> counts;
    const auto append = [&](int windows, double mean) {
      for (int i = 0; i < windows; ++i) counts.push_back(poisson(mean, random));
    };
    append(100, 40);
    append(50, 120);
    append(80, 30);
    const auto found = stretches_of_rate(counts, {.apart = 1e5});
    ASSERT_EQ(found.back().first + found.back().windows, counts.size());
    if (found.size() != 3 || found[0].first != 0) continue;
    const bool placed = std::abs(static_cast<double>(found[1].first) - 100) <= 1 &&
                        std::abs(static_cast<double>(found[2].first) - 150) <= 1;
    // Means within four standard errors.
    const bool measured =
        std::abs(found[0].mean - 40) < 2.6 && std::abs(found[1].mean - 120) < 6.2 && std::abs(found[2].mean - 30) < 2.5;
    right += placed && measured ? 1 : 0;
  }
  EXPECT_GE(right, 43);
}

TEST(Stretches, OfOverdispersedCountsAreCutOnlyIfTakenForPoisson) {
  Random random(8);
  std::vector<double> counts(300);
  for (double& count : counts) count = poisson(random.gamma(4, 5), random);  // variance six times the mean
  EXPECT_GT(stretches_of_rate(counts, {}).size(), 3U);
  EXPECT_LE(stretches_of_rate(counts, {.dispersion = 6}).size(), 2U);
}

TEST(Stretches, RefuseOptionsThatMeanNothing) {
  EXPECT_THROW(PoissonCusum(1, 100), std::invalid_argument);
  EXPECT_THROW(PoissonCusum(2, 1), std::invalid_argument);
  EXPECT_THROW(PoissonCusum(2, 100, 0.5), std::invalid_argument);
  EXPECT_THROW((void)stretches_of_rate({}, {.factor = 0.5}), std::invalid_argument);
  EXPECT_TRUE(stretches_of_rate({}, {}).empty());
}

}  // namespace
}  // namespace evenkeel::maths
