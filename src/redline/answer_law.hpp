#pragma once

#include <cstdint>

#include "forecast/survival_curve.hpp"

namespace evenkeel::redline {

/// How long answers of one model are, in output tokens of one sequence: learned from those that ended and from those
/// that have lasted so long and are not over (without the latter the short ones, which end first, would be all that is
/// known). Before enough have ended: exponential, with the mean it was given.
class AnswerLaw {
 public:
  /// Ends after which what was learned is believed.
  static constexpr std::uint64_t enough = 64;

  explicit AnswerLaw(std::int64_t unknown_output) : unknown_(static_cast<double>(unknown_output)) {}

  /// An answer of `from` tokens, told before, was seen to reach `to`.
  void lived(std::int64_t from, std::int64_t to) { curve_.lived(from, to); }
  /// One that has lived() to its length is over. O(1) but for a rebuild, some 20 us, once in up to 64 ends.
  void ended(std::int64_t length);
  /// P(it makes more than `tokens` beyond its age). `bound` 0 = none.
  [[nodiscard]] double survival(std::int64_t age, double tokens, std::int64_t bound) const;
  [[nodiscard]] bool known() const { return ends_ >= enough; }
  [[nodiscard]] double mean() const { return known() ? mean_ : unknown_; }
  [[nodiscard]] double mean_square() const { return known() ? mean_square_ : 2 * unknown_ * unknown_; }

 private:
  static constexpr double half_life = 4000;  ///< ends

  double unknown_;
  forecast::SurvivalCurve curve_{half_life};
  std::uint64_t ends_ = 0;
  std::uint64_t rebuilt_ = 0;  ///< ends then
  double mean_ = 0;
  double mean_square_ = 0;
};

}  // namespace evenkeel::redline
