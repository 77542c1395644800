#include "maths/normal.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace evenkeel::maths {
namespace {

TEST(Normal, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-13);
  EXPECT_NEAR(normal_quantile(0.999), 3.090232306167813, 1e-13);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
  EXPECT_NEAR(normal_quantile(0.01), -2.326347874040841, 1e-13);
  EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-12);
  EXPECT_NEAR(normal_quantile(32.0 / 33), 1.87636, 5e-6);
}

TEST(Normal, QuantileInvertsTheCdf) {
  for (double p = 1e-12; p < 1; p = p < 0.01 ? p * 3 : p + 0.007) {
    EXPECT_NEAR(normal_cdf(normal_quantile(p)), p, 1e-14 + 1e-13 * p);
  }
}

TEST(Normal, EndsAreInfiniteAndTheOutsideIsNoNumber) {
  EXPECT_EQ(normal_quantile(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(normal_quantile(1), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(normal_quantile(1.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(std::nan(""))));
}

}  // namespace
}  // namespace evenkeel::maths
