#include "base/random.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

TEST(Random, SplitMixMatchesItsPublishedStream) {
  // First outputs of SplitMix64 from state 1234567 (the reference vector of the Rosetta Code task).
  std::uint64_t state = 1234567;
  EXPECT_EQ(mix64(state), 6457827717110365317U);
  EXPECT_EQ(mix64(state += 0x9e3779b97f4a7c15U), 3203168211198807973U);
  EXPECT_EQ(mix64(state += 0x9e3779b97f4a7c15U), 9817491932198370423U);
}

TEST(Random, SameSeedSameStreamAndSplitsDiffer) {
  Random a(7);
  Random b(7);
  Random c = a.split();
  (void)b.next();
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const auto x = a.next();
    EXPECT_EQ(x, b.next());
    if (x == c.next()) ++equal;
  }
  EXPECT_EQ(equal, 0);
}

TEST(Random, BelowIsUniform) {
  Random random(3);
  int counts[7] = {};
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi_squared, 22.46);  // 0.999 quantile with 6 degrees of freedom
}

TEST(Random, DistributionsHaveTheirMoments) {
  Random random(11);
  const int n = 200000;
  double exponential = 0, normal = 0, lognormal = 0, lognormal_square = 0, gamma = 0;
  for (int i = 0; i < n; ++i) {
    exponential += random.exponential(2.0);
    normal += random.normal(5, 3);
    const double x = random.lognormal(100, 0.8);
    lognormal += x;
    lognormal_square += x * x;
    gamma += random.gamma(0.5, 4);
  }
  EXPECT_NEAR(exponential / n, 2.0, 0.03);
  EXPECT_NEAR(normal / n, 5.0, 0.05);
  EXPECT_NEAR(lognormal / n, 100, 1.5);
  const double variance = lognormal_square / n - std::pow(lognormal / n, 2);
  EXPECT_NEAR(std::sqrt(variance) / 100, 0.8, 0.03);
  EXPECT_NEAR(gamma / n, 2.0, 0.04);
}

}  // namespace
}  // namespace evenkeel
