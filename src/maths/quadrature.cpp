#include "maths/quadrature.hpp"

#include <cmath>
#include <numbers>

namespace evenkeel::maths {

std::vector<QuadraturePoint> gauss_legendre(std::size_t n, double from, double to) {
  std::vector<QuadraturePoint> points;
  const auto degree = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    // Newton's method on the Legendre polynomial, from Tricomi's guess of its root.
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (degree + 0.5));
    double slope = 1;
    for (int round = 0; round < 100; ++round) {
      double before = 0;
      double value = 1;
      for (std::size_t k = 0; k < n; ++k) {
        const auto order = static_cast<double>(k);
        const double next = ((2 * order + 1) * x * value - order * before) / (order + 1);
        before = value;
        value = next;
      }
      slope = degree * (x * value - before) / (x * x - 1);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-15) break;
    }
    const double half = (to - from) / 2;
    points.push_back({from + half * (1 - x), 2 * half / ((1 - x * x) * slope * slope)});
  }
  return points;
}

}  // namespace evenkeel::maths
