#include "maths/scalability.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::maths {
namespace {

double law(double n, double a, double b) { return n / (1 + a * (n - 1) + b * n * (n - 1)); }

/// Throughputs whose (N/C - 1)/(N - 1) is off by independent normal errors, which is what least squares assumes.
std::vector<ScalePoint> measured(double a, double b, double error, std::uint64_t seed) {
  Random random(seed);
  std::vector<ScalePoint> points = {{1, 5000}};
  for (const double n : {2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0}) {
    const double y = a + b * n + random.normal(0, error);
    points.push_back({n, 5000 * n / (1 + y * (n - 1))});
  }
  return points;
}

TEST(Scalability, ExactPointsGiveTheirLawBack) {
  std::vector<ScalePoint> points;
  for (const double n : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) points.push_back({n, 700 * law(n, 0.05, 0.0004)});
  const auto fit = fit_scalability(points);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->single, 700, 1e-9);
  EXPECT_NEAR(fit->contention, 0.05, 1e-9);
  EXPECT_NEAR(fit->coherency, 0.0004, 1e-12);
  EXPECT_NEAR(fit->peak, std::sqrt(0.95 / 0.0004), 1e-4);
  EXPECT_NEAR(fit->capacity(20), law(20, 0.05, 0.0004), 1e-6);
  EXPECT_LT(fit->worst_misfit, 1e-9);
  // The peak is one: neighbours are lower.
  EXPECT_GT(fit->capacity(fit->peak), fit->capacity(fit->peak - 2));
  EXPECT_GT(fit->capacity(fit->peak), fit->capacity(fit->peak + 2));
}

TEST(Scalability, IntervalsCoverAsOftenAsTheySay) {
  const double a = 0.03;
  const double b = 0.0008;
  int contention = 0;
  int coherency = 0;
  int peak = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const auto fit = fit_scalability(measured(a, b, 0.002, seed));
    contention += fit->contention_interval.contains(a) ? 1 : 0;
    coherency += fit->coherency_interval.contains(b) ? 1 : 0;
    peak += fit->peak_interval.contains(std::sqrt((1 - a) / b)) ? 1 : 0;
  }
  EXPECT_NEAR(contention, 950, 21);
  EXPECT_NEAR(coherency, 950, 21);
  EXPECT_NEAR(peak, 950, 21);
}

TEST(Scalability, WithoutCoherencyThereIsNoUpperEndOfThePeak) {
  const auto fit = fit_scalability(measured(0.03, 0, 0.002, 3));
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->coherency_interval.contains(0));
  EXPECT_TRUE(std::isinf(fit->peak_interval.high));
  EXPECT_GT(fit->peak_interval.low, 48);
}

TEST(Scalability, WhatCannotCarryItIsRefusedWithTheReason) {
  const auto refused = [](std::vector<ScalePoint> points) { return fit_scalability(points).error().message; };
  EXPECT_EQ(refused({{2, 1}, {3, 1}, {4, 1}, {5, 1}}), "no point at N = 1, which the others are compared with");
  EXPECT_EQ(refused({{1, 1}, {3, 1}, {4, 1}, {5, 1}}), "3 points at 3 different N over 1; allowed: at least 4 at 3");
  EXPECT_EQ(refused({{1, 1}, {3, 1}, {3, 1}, {5, 1}, {5, 2}}),
            "4 points at 2 different N over 1; allowed: at least 4 at 3");
  EXPECT_EQ(refused({{0.5, 1}}), "N is 0.5; allowed: finite numbers from 1");
  EXPECT_EQ(refused({{1, 0}}), "a throughput is 0; allowed: finite numbers over 0");
  EXPECT_EQ(refused({{1, std::numeric_limits<double>::quiet_NaN()}}),
            "a throughput is nan; allowed: finite numbers over 0");
}

}  // namespace
}  // namespace evenkeel::maths
