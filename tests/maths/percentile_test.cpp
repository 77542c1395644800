#include "maths/percentile.hpp"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::maths {
namespace {

TEST(Percentile, InterpolatesLinearlyBetweenNearestRanks) {
  // The worked example of NumPy's manual for method="linear" and R's quantile(type = 7).
  const std::array<double, 4> four = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(percentile(four, 50), 2.5);
  EXPECT_DOUBLE_EQ(percentile(four, 25), 1.75);
  EXPECT_DOUBLE_EQ(percentile(four, 95), 3.85);
  const std::array<double, 6> uneven = {3, 5, 7, 10, 20, 100};
  EXPECT_DOUBLE_EQ(percentile(uneven, 90), 60);  // rank 4.5: half way from 20 to 100
}

TEST(Percentile, EndsAndOddInputsAreDefined) {
  const std::array<double, 3> three = {1, 2, 9};
  EXPECT_EQ(percentile(three, 0), 1);
  EXPECT_EQ(percentile(three, 100), 9);
  EXPECT_EQ(percentile(three, -5), 1);
  EXPECT_EQ(percentile(three, 400), 9);
  EXPECT_EQ(percentile({}, 50), 0);
  EXPECT_EQ(percentile(std::array<double, 1>{7}, 33), 7);
}

TEST(Percentile, SummaryOfOneToHundred) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Summary s = summarize(values);
  EXPECT_EQ(s.count, 100U);
  EXPECT_DOUBLE_EQ(s.mean, 50.5);
  EXPECT_DOUBLE_EQ(s.p50, 50.5);
  EXPECT_DOUBLE_EQ(s.p90, 90.1);
  EXPECT_DOUBLE_EQ(s.p99, 99.01);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 100);
  EXPECT_EQ(summarize({}).count, 0U);
}

TEST(Percentile, CoefficientOfVariationUsesTheSampleDeviation) {
  EXPECT_DOUBLE_EQ(coefficient_of_variation(std::array<double, 2>{1, 3}), std::sqrt(2.0) / 2);
  EXPECT_EQ(coefficient_of_variation(std::array<double, 3>{4, 4, 4}), 0);
  EXPECT_EQ(coefficient_of_variation(std::array<double, 1>{4}), 0);
}

}  // namespace
}  // namespace evenkeel::maths
