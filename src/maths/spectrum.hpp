#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "maths/count_law.hpp"
#include "maths/lattice.hpp"

namespace evenkeel::maths {

/// The grid on which laws are transformed: `cells` points (a power of two), of which `negative` stand for points under
/// 0. Masses are multiplied by exp(-tilt * point) before and divided after, so that what wraps around comes back
/// smaller by exp(-tilt * cells) (Grübel and Hermesmeier 1999, "Computation of compound distributions I: aliasing
/// errors and exponential tilting").
struct Grid {
  double step = 1;
  std::size_t cells = 0;
  std::size_t negative = 0;
  double tilt = 0;  ///< per cell; 0 with points under 0

  /// Wide enough for [low, high], low <= 0 <= high.
  static Grid covering(double step, double low, double high);
};

/// The transform of a law on a grid: sums of independent variables are products here, compounds are functions of it.
/// Cost of making one and of reading it: O(cells log cells).
class Spectrum {
 public:
  /// Masses outside of the grid wrap around.
  Spectrum(const Grid& grid, const Lattice& law);

  /// The law of M_1 + ... + M_K.
  Spectrum& compound(const CountLaw& count);
  /// The law of a sum of two independent variables.
  Spectrum& operator*=(const Spectrum& other);
  /// The law of n independent copies.
  Spectrum& power(std::size_t n);
  /// weight * this + other_weight * other: a mixture.
  Spectrum& mix(double weight, double other_weight, const Spectrum& other);

  [[nodiscard]] Lattice law() const;

 private:
  Grid grid_;
  std::vector<std::complex<double>> values_;
};

/// compound_by_recursion by Fourier transform, the whole of it, up to `high`. Also for severities with points under 0.
[[nodiscard]] Lattice compound_by_transform(const CountLaw& count, const Lattice& severity, double low, double high);

}  // namespace evenkeel::maths
