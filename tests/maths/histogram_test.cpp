#include "maths/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::maths {
namespace {

double by_sorting(const std::vector<double>& sorted, double p) {
  return sorted[static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * p / 100)];
}

void expect_close_to_sorting(double relative_error, std::vector<double> values) {
  Histogram histogram(relative_error, 1e-4, 1e7);
  for (const double v : values) histogram.add(v);
  std::sort(values.begin(), values.end());
  for (double p = 0; p <= 100; p += 0.5) {
    const double truth = by_sorting(values, p);
    EXPECT_NEAR(histogram.percentile(p), truth, truth * relative_error * (1 + 1e-9)) << "p" << p;
  }
}

TEST(Histogram, QuantilesAgreeWithSortingWithinTheRelativeError) {
  Random random(11);
  for (const double relative_error : {0.1, 0.01, 0.002}) {
    std::vector<double> narrow;
    std::vector<double> wide;
    std::vector<double> whole;
    for (int i = 0; i < 20'000; ++i) {
      narrow.push_back(random.normal(50, 1));
      wide.push_back(random.lognormal(20, 4));
      whole.push_back(static_cast<double>(1 + random.below(40)));
    }
    expect_close_to_sorting(relative_error, narrow);
    expect_close_to_sorting(relative_error, wide);
    expect_close_to_sorting(relative_error, whole);
  }
}

TEST(Histogram, MemoryIsFixedByItsParameters) {
  Histogram histogram(0.01, 1e-6, 1e6);
  const auto buckets = histogram.bucket_count();
  EXPECT_NEAR(static_cast<double>(buckets), std::log(1e12) / 0.02, 5);
  for (double v = 1e-9; v < 1e12; v *= 1.7) histogram.add(v);
  EXPECT_EQ(histogram.bucket_count(), buckets);
}

TEST(Histogram, ValuesOutsideTheRangeAreAnsweredByTheExtremesSeen) {
  Histogram histogram(0.01, 1, 100);
  histogram.add(0);
  histogram.add(0.5);
  histogram.add(5000);
  histogram.add(-3);
  histogram.add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(histogram.percentile(0), 0);
  EXPECT_EQ(histogram.percentile(100), 5000);
  EXPECT_EQ(histogram.count(), 5U);
  EXPECT_DOUBLE_EQ(histogram.sum(), 5000.5);
}

TEST(Histogram, MergeEqualsAddingEverythingToOne) {
  Random random(3);
  Histogram one;
  Histogram left;
  Histogram right;
  for (int i = 0; i < 5000; ++i) {
    const double v = random.exponential(3);
    one.add(v);
    (i % 3 == 0 ? left : right).add(v);
  }
  left.merge(right);
  left.merge(Histogram());
  for (double p = 0; p <= 100; p += 1) EXPECT_EQ(left.percentile(p), one.percentile(p));
  EXPECT_EQ(left.count(), one.count());
  EXPECT_NEAR(left.sum(), one.sum(), 1e-6);
  EXPECT_EQ(left.min(), one.min());
  EXPECT_EQ(left.max(), one.max());
  EXPECT_THROW(left.merge(Histogram(0.02)), std::invalid_argument);
}

TEST(Histogram, CountAtMostIsWithinOneBucketOfTheTruth) {
  Histogram histogram(0.01, 1, 1e6);
  for (int i = 1; i <= 1000; ++i) histogram.add(i);
  EXPECT_EQ(histogram.count_at_most(0.5), 0U);
  EXPECT_EQ(histogram.count_at_most(1000), 1000U);
  EXPECT_NEAR(static_cast<double>(histogram.count_at_most(500)), 500, 0.02 * 500);
}

TEST(Histogram, ClearForgetsAndBadParametersAreRefused) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile(50), 0);
  histogram.add(4, 3);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.percentile(50), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_THROW(Histogram(0), std::invalid_argument);
  EXPECT_THROW(Histogram(0.01, 5, 5), std::invalid_argument);
}

}  // namespace
}  // namespace evenkeel::maths
