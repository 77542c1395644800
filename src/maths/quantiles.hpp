#pragma once

namespace evenkeel::maths {

// Quantiles of the laws behind intervals, by Boost.Math. `p` in (0, 1), `dof` over 0, else std::domain_error.

/// x with P(chi-square <= x) = p.
[[nodiscard]] double chi_square_quantile(double p, double dof);
/// P(chi-square > x), x not negative.
[[nodiscard]] double chi_square_above(double x, double dof);
/// x with P(Student's t <= x) = p.
[[nodiscard]] double student_quantile(double p, double dof);

}  // namespace evenkeel::maths
