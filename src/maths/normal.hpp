#pragma once

namespace evenkeel::maths {

/// P(Z <= z) of a standard normal Z.
[[nodiscard]] double normal_cdf(double z);

/// The z with normal_cdf(z) = probability, for 0 < probability < 1; -inf at 0, +inf at 1, NaN outside. Relative error
/// about 1e-15: Acklam's rational approximation and one step of Halley's method.
[[nodiscard]] double normal_quantile(double probability);

}  // namespace evenkeel::maths
