#pragma once

#include <cstddef>
#include <vector>

namespace evenkeel::maths {

struct QuadraturePoint {
  double at;
  double weight;
};

/// Gauss and Legendre's rule with n points on [from, to]: exact for polynomials up to degree 2n - 1.
[[nodiscard]] std::vector<QuadraturePoint> gauss_legendre(std::size_t n, double from, double to);

}  // namespace evenkeel::maths
