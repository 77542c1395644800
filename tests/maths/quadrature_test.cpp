#include "maths/quadrature.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace evenkeel::maths {
namespace {

TEST(Quadrature, IsExactForPolynomialsAndNearForTheRest) {
  double fifth = 0;
  double bell = 0;
  for (const auto& [at, weight] : gauss_legendre(3, 1, 4)) fifth += weight * std::pow(at, 5);
  for (const auto& [at, weight] : gauss_legendre(24, -1, 3)) bell += weight * std::exp(-at * at);
  EXPECT_NEAR(fifth, (4096.0 - 1) / 6, 1e-10);
  EXPECT_NEAR(bell, std::sqrt(std::acos(-1.0)) / 2 * (std::erf(3) + std::erf(1)), 1e-13);
}

}  // namespace
}  // namespace evenkeel::maths
