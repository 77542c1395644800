#pragma once

#include <array>

#include "maths/count_law.hpp"

namespace evenkeel::maths {

/// E[M], E[M^2], E[M^3], E[M^4].
using RawMoments = std::array<double, 4>;

[[nodiscard]] RawMoments uniform_moments(double from, double to);

/// Of a law: mean, standard deviation, skewness and excess kurtosis.
struct Shape {
  double mean = 0;
  double sd = 0;
  double skewness = 0;
  double kurtosis = 0;

  /// Quantile by Cornish and Fisher's expansion to third order (1938; Fisher and Cornish 1960), 0 < level < 1.
  /// No bound on its error; good where the skewness is small.
  [[nodiscard]] double cornish_fisher(double level) const;
};

/// Of a sum of K terms with these moments.
[[nodiscard]] Shape compound_shape(const CountLaw& count, const RawMoments& severity);

}  // namespace evenkeel::maths
