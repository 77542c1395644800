#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/random.hpp"

namespace evenkeel::workload {

/// Most tokens any length may have: far over every model's window, far under overflow.
inline constexpr std::int64_t most_tokens = 100'000'000;

/// A law of token counts: `fixed:N`, `uniform:A:B` (both ends included) or `lognormal:MEAN:CV[:CAP]`
/// (rounded, at least 1, at most CAP).
class LengthLaw {
 public:
  /// fixed:1
  LengthLaw() = default;
  /// The error names what is wrong and the three forms.
  [[nodiscard]] static Result<LengthLaw> parse(std::string_view text);
  [[nodiscard]] std::int64_t draw(Random& random) const;

 private:
  enum class Kind : std::uint8_t { fixed, uniform, lognormal };
  Kind kind_ = Kind::fixed;
  std::int64_t low_ = 1;             ///< fixed: the value; uniform: the lower end
  std::int64_t high_ = most_tokens;  ///< uniform: the upper end; lognormal: the cap
  double mean_ = 1;
  double cv_ = 0;
};

/// A law of the gaps between arrivals: `poisson` or `gamma:CV` (CV over 1 is burstier than Poisson).
class ArrivalLaw {
 public:
  /// poisson
  ArrivalLaw() = default;
  [[nodiscard]] static Result<ArrivalLaw> parse(std::string_view text);
  /// A gap with the given mean, in the mean's unit.
  [[nodiscard]] double draw(double mean, Random& random) const;
  /// The time to the first arrival after a moment that has nothing to do with the arrivals (the residual life
  /// of a renewal process: a uniform part of a gap drawn in proportion to its length).
  [[nodiscard]] double draw_first(double mean, Random& random) const;

 private:
  double shape_ = 1;  ///< of the gamma law, 1 / CV^2
};

}  // namespace evenkeel::workload
