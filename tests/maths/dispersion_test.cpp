#include "maths/dispersion.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "maths/quantiles.hpp"

namespace evenkeel::maths {
namespace {

/// By counting exponential gaps.
double poisson(double mean, Random& random) {
  double count = -1;
  for (double at = 0; at <= mean; at += random.exponential(1)) ++count;
  return count;
}

std::vector<double> poissons(std::size_t n, double mean, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> counts(n);
  for (double& count : counts) count = poisson(mean, random);
  return counts;
}

/// Variance over mean is 1 + mean / shape.
std::vector<double> gamma_poissons(std::size_t n, double mean, double shape, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> counts(n);
  for (double& count : counts) count = poisson(random.gamma(shape, mean / shape), random);
  return counts;
}

TEST(Quantiles, AreThoseOfPrintedTables) {
  EXPECT_NEAR(chi_square_quantile(0.95, 1), 3.841, 5e-4);
  EXPECT_NEAR(chi_square_quantile(0.025, 10), 3.247, 5e-4);
  EXPECT_NEAR(chi_square_quantile(0.975, 50), 71.420, 5e-4);
  EXPECT_NEAR(chi_square_above(18.307, 10), 0.05, 1e-5);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_quantile(0.975, 30), 2.042, 5e-4);
}

TEST(Dispersion, OfCountsDoneByHand) {
  std::vector<double> counts;
  for (int i = 0; i < 10; ++i) counts.insert(counts.end(), {2.0, 6.0});
  // mean 4, sum of squares 20 * 4, so 80 / 19 / 4; of pairs (2 - 6)^2 / (2 + 6) = 2 each.
  EXPECT_NEAR(dispersion(counts)->index, 80.0 / 19 / 4, 1e-12);
  for (int i = 0; i < 10; ++i) counts.insert(counts.end(), {2.0, 6.0});
  EXPECT_NEAR(dispersion_about_drift(counts)->index, 2, 1e-12);
}

TEST(Dispersion, IntervalCoversAndTestRejectsAsOftenAsTheySay) {
  int covered = 0;
  int covered_about_drift = 0;
  int rejected = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const auto counts = poissons(100, 8, seed);
    covered += dispersion(counts)->interval.contains(1) ? 1 : 0;
    rejected += dispersion(counts)->p_poisson < 0.05 ? 1 : 0;
    covered_about_drift += dispersion_about_drift(counts)->interval.contains(1) ? 1 : 0;
  }
  EXPECT_NEAR(covered, 950, 25);
  EXPECT_NEAR(covered_about_drift, 950, 25);
  EXPECT_NEAR(rejected, 50, 25);
}

TEST(Dispersion, IntervalCoversTheIndexOfOverdispersedCounts) {
  // 71.04 arrivals a window with twice the variance, and 20 with five times: skewed, so that plain chi-square would
  // cover too little.
  int doubled = 0;
  int fivefold = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    doubled += dispersion(gamma_poissons(200, 71.04, 71.04, seed))->interval.contains(2) ? 1 : 0;
    fivefold += dispersion(gamma_poissons(200, 20, 5, seed))->interval.contains(5) ? 1 : 0;
  }
  EXPECT_GT(doubled, 0.93 * 500);
  EXPECT_GT(fivefold, 0.9 * 500);
}

TEST(Dispersion, OfARateThatDriftsIsOneOnlyAboutTheDrift) {
  Random random(4);
  std::vector<double> counts(960);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = poisson(40 * (1 + 0.8 * std::sin(static_cast<double>(i) / 960 * 6.283)), random);
  }
  EXPECT_GT(dispersion(counts)->interval.low, 5);
  EXPECT_TRUE(dispersion_about_drift(counts)->interval.contains(1));
}

TEST(Correlation, FollowsFromDispersionAsTheSharedMultiplierSays) {
  // 32 nodes: index 2 is c = 1/33, index 33 is c = 1/2; one node's index D is c = (D - 1) / D.
  EXPECT_NEAR(correlation_of_dispersion(2, 32), 1.0 / 33, 1e-12);
  EXPECT_NEAR(correlation_of_dispersion(33, 32), 0.5, 1e-12);
  EXPECT_EQ(correlation_of_dispersion(0.9, 32), 0);
}

TEST(Correlation, OfNodesWithACommonCauseIsFoundWithinItsInterval) {
  // One gamma multiplier of shape 5 a window on nodes of 5 arrivals each: c = (5 / 5) / (1 + 5 / 5) = 1/2.
  int covered = 0;
  constexpr int runs = 100;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    Random random(seed);
    std::vector<std::vector<double>> rows(150, std::vector<double>(6));
    for (auto& row : rows) {
      const double rate = 5 * random.gamma(5, 0.2);
      for (double& count : row) count = poisson(rate, random);
    }
    const auto found = pairwise_correlation(rows, random);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->nodes, 6U);
    covered += found->interval.contains(0.5) ? 1 : 0;
  }
  EXPECT_GT(covered, 0.85 * runs);  // percentiles of a bootstrap cover somewhat less than they say
}

TEST(Correlation, OfTwoNodesIsPearsons) {
  Random random(2);
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 20; ++i) rows.push_back({static_cast<double>(i % 4), static_cast<double>(i % 2)});
  // Of 0,1,2,3 with 0,1,0,1: covariance 1/4, variances 5/4 and 1/4.
  EXPECT_NEAR(pairwise_correlation(rows, random)->mean, 0.25 / std::sqrt(1.25 * 0.25), 1e-12);
}

TEST(Dispersion, WhatCannotCarryItIsRefusedWithTheReason) {
  Random random(1);
  EXPECT_EQ(dispersion(std::vector<double>(19, 3.0)).error().message, "19 windows; dispersion wants at least 20");
  EXPECT_EQ(dispersion(std::vector<double>(30, 0.0)).error().message, "no arrival in any window");
  std::vector<double> bad(60, 1.0);
  bad[7] = -1;
  EXPECT_EQ(dispersion(bad).error().message, "a count is -1; allowed: finite numbers from 0");
  bad[7] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(dispersion_about_drift(bad).error().message, "a count is inf; allowed: finite numbers from 0");
  EXPECT_EQ(dispersion_about_drift(std::vector<double>(39, 2.0)).error().message,
            "39 windows; dispersion about a drift wants at least 40");
  std::vector<double> rare(60, 0.0);
  for (std::size_t i = 0; i < 38; ++i) rare[i] = 1;
  EXPECT_EQ(dispersion_about_drift(rare).error().message,
            "19 pairs of adjacent windows with arrivals; dispersion about a drift wants at least 20");
  EXPECT_EQ(pairwise_correlation(std::vector<std::vector<double>>(30, {1, 2}), random).error().message,
            "0 nodes whose counts vary; correlation wants at least 2");
  std::vector<std::vector<double>> rows(30, {1, 2});
  rows[4].push_back(3);
  EXPECT_EQ(pairwise_correlation(rows, random).error().message, "one window has counts of 2 nodes, another of 3");
}

}  // namespace
}  // namespace evenkeel::maths
