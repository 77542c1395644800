#include "redline/answer_law.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::redline {

namespace {
/// The guess counts as so many answers for good: the longest of few that were seen is not the longest there are.
constexpr double guessed = 8;
}  // namespace

void AnswerLaw::ended(std::int64_t length) {
  if (length <= 0) return;
  curve_.ended(length);
  ++ends_;
  const double share = 1 / static_cast<double>(std::min<std::uint64_t>(ends_, 1024));
  const auto tokens = static_cast<double>(length);
  mean_ += (tokens - mean_) * share;
  mean_square_ += (tokens * tokens - mean_square_) * share;
  if (ends_ < enough || ends_ - rebuilt_ < std::min<std::uint64_t>(64, 1 + ends_ / 16)) return;
  curve_.rebuild();
  rebuilt_ = ends_;
}

double AnswerLaw::survival(std::int64_t age, double tokens, std::int64_t bound) const {
  if (bound > 0 && static_cast<double>(age) + tokens > static_cast<double>(bound)) return 0;
  const double guess = std::exp(-tokens / unknown_);
  if (!known() || tokens < 1) return guess;
  const double learned = curve_.survival(age, static_cast<std::int64_t>(tokens));
  const auto ends = static_cast<double>(ends_);
  return (ends * learned + guessed * guess) / (ends + guessed);
}

}  // namespace evenkeel::redline
