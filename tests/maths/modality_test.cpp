#include "maths/modality.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::maths {
namespace {

TEST(Modality, OfTwoPointMassesIsKnown) {
  // Two equal Gaussians have one peak exactly from a distance of two standard deviations down.
  std::vector<double> values(30, -1.0);
  values.insert(values.end(), 30, 1.0);
  Random random(1);
  const auto found = modality(values, random);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->critical_bandwidth, 1, 0.02);
  EXPECT_FALSE(found->one_peak());
}

TEST(Modality, PublishedMixtureOfThreeDurationsHasMoreThanOnePeak) {
  // 200, 800 and 2000 s, weights .5, .3, .2, 15 % apart.
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    std::vector<double> logs(400);
    for (double& value : logs) {
      const double u = random.unit();
      const double mean = u < 0.5 ? 200 : u < 0.8 ? 800 : 2000;
      value = std::log(random.normal(mean, 0.15 * mean));
    }
    found += modality(logs, random)->one_peak() ? 0 : 1;
  }
  EXPECT_EQ(found, 10);
}

TEST(Modality, LawsWithOnePeakAreSeldomRejected) {
  int rejected = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    std::vector<double> pareto(300);
    std::vector<double> lognormal(300);
    for (double& value : pareto) value = -std::log(1 - random.unit()) / 2.2;
    for (double& value : lognormal) value = random.normal(5, 1.2);
    rejected += modality(pareto, random)->one_peak() ? 0 : 1;
    rejected += modality(lognormal, random)->one_peak() ? 0 : 1;
  }
  EXPECT_LE(rejected, 9);  // of 80 at one in twenty: 4 expected, 9 with a chance under 2 %
}

TEST(Modality, WhatCannotCarryItIsRefusedWithTheReason) {
  Random random(1);
  EXPECT_EQ(modality(std::vector<double>(49, 1.0), random).error().message,
            "49 values; a test for peaks wants at least 50");
  EXPECT_EQ(modality(std::vector<double>(60, 1.5), random).error().message, "all 60 values are 1.5");
  std::vector<double> values(60, 1.0);
  values[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(modality(values, random).error().message, "a value is nan; allowed: finite numbers");
}

}  // namespace
}  // namespace evenkeel::maths
