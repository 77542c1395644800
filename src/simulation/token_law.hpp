#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/random.hpp"
#include "workload/laws.hpp"

namespace evenkeel::simulation {

/// Most tokens a simulated prompt and output have unless more is allowed: giants beyond say little of a policy and
/// cost many seeds to average out.
inline constexpr std::int64_t default_prompt_cap = 65'536;
inline constexpr std::int64_t default_output_cap = 16'384;

/// A law of token counts: those of workload::LengthLaw, and `geometric:P` (P(n) = P (1 - P)^(n - 1), n >= 1), the
/// memoryless outputs of theory.
class TokenLaw {
 public:
  /// fixed:1
  TokenLaw() = default;
  /// What the law draws is at most `cap`: a lognormal or geometric law is cut there, a law that names a larger number
  /// itself is an error. Errors name the field, what was wrong and the forms.
  [[nodiscard]] static Result<TokenLaw> parse(std::string_view field, std::string_view text, std::int64_t cap);
  [[nodiscard]] std::int64_t draw(Random& random) const;
  /// Of many draws with a seed of its own; good to a percent or two.
  [[nodiscard]] double mean() const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_ = "fixed:1";
  workload::LengthLaw lengths_;
  double stop_ = 0;  ///< P of a geometric law; 0: not one
  std::int64_t cap_ = 1;
};

}  // namespace evenkeel::simulation
