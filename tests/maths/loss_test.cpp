#include "maths/loss.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::maths {
namespace {

TEST(Loss, ErlangBIsThatOfTheTables) {
  // rho^c / c! over the sum of rho^k / k!, written out.
  const double rho = 3;
  EXPECT_NEAR(erlang_b(rho, 4), (81.0 / 24) / (1 + 3 + 4.5 + 4.5 + 81.0 / 24), 1e-15);
  EXPECT_NEAR(erlang_b(7.4, 32), 1.5e-11, 1e-12);
  EXPECT_NEAR(erlang_b(7.4, 11), 0.06, 0.005);
  EXPECT_NEAR(erlang_b(7.4, 17), 0.001, 2e-4);
  EXPECT_EQ(erlang_b(2, 0), 1);
}

TEST(Loss, FractileOfOccupiedPlacesDropsWhereFewFit) {
  EXPECT_EQ(occupancy_quantile(7.4, 32, 32.0 / 33), 13);
  EXPECT_EQ(occupancy_quantile(7.4, 11, 32.0 / 33), 11);
}

TEST(Loss, SharedCapacityIsTheProductFormByEnumeration) {
  const std::vector<LossClass> classes{{1.5, 2}, {0.7, 3}};
  constexpr std::int64_t capacity = 10;
  std::vector<double> occupied(capacity + 1, 0.0);
  double total = 0;
  for (int a = 0; 2 * a <= capacity; ++a) {
    for (int b = 0; 2 * a + 3 * b <= capacity; ++b) {
      const double weight = std::pow(1.5, a) / std::tgamma(a + 1) * std::pow(0.7, b) / std::tgamma(b + 1);
      occupied[static_cast<std::size_t>(2 * a + 3 * b)] += weight;
      total += weight;
    }
  }
  const SharedLoss loss = kaufman_roberts(classes, capacity);
  for (std::size_t x = 0; x < occupied.size(); ++x) EXPECT_NEAR(loss.occupied[x], occupied[x] / total, 1e-14) << x;
  EXPECT_NEAR(loss.blocked[0], (occupied[9] + occupied[10]) / total, 1e-14);
  EXPECT_NEAR(loss.blocked[1], (occupied[8] + occupied[9] + occupied[10]) / total, 1e-14);
}

TEST(Loss, OneClassOfOneUnitIsErlangBAlsoWhereMassesOverflow) {
  const SharedLoss loss = kaufman_roberts(std::vector<LossClass>{{2000, 1}}, 2050);
  EXPECT_NEAR(loss.blocked[0], erlang_b(2000, 2050), 1e-12);
}

TEST(Loss, WhatNeverFitsIsAlwaysBlocked) {
  EXPECT_NEAR(kaufman_roberts(std::vector<LossClass>{{1, 7}, {1, 1}}, 5).blocked[0], 1, 1e-15);
}

}  // namespace
}  // namespace evenkeel::maths
