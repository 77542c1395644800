#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace evenkeel::redline {

/// Tokens for retries: each first attempt brings `share` of one, a retry takes one. In any span retries are at most
/// share * first attempts + most: at a refusal probability q unbounded retries would multiply traffic by 1 / (1 - q).
class RetryTokens {
 public:
  explicit RetryTokens(double share = 0.1, double most = 3) : share_(share), most_(most) {}
  void first_attempt() { tokens_ = std::min(most_, tokens_ + share_); }
  [[nodiscard]] bool take() {
    if (tokens_ < 1 - 1e-9) return false;
    tokens_ -= 1;
    return true;
  }
  [[nodiscard]] double tokens() const { return tokens_; }

 private:
  double share_;
  double most_;
  double tokens_ = 0;
};

struct RefusalRules {
  int attempts = 3;  ///< the first included
  Duration round_trip = std::chrono::milliseconds(1);
  Duration staleness{};                     ///< Delta: age of what is known of workers
  Duration most = std::chrono::seconds(1);  ///< longest pause
};

/// What follows when a worker refuses what the router thought it had room for: another worker after a pause with full
/// jitter, U(0, min(most, base 2^attempt)) with base = max(2 RTT, Delta / 2), if there is a token for it; and no retry
/// at all while the fleet is frozen.
class RefusalComposition {
 public:
  explicit RefusalComposition(RefusalRules rules = {}, RetryTokens tokens = RetryTokens())
      : rules_(rules), tokens_(tokens) {}

  void first_attempt() { tokens_.first_attempt(); }
  /// `made`: attempts of this request so far, at least 1. Takes a token if it says yes.
  [[nodiscard]] bool may_retry(int made, bool frozen) { return !frozen && made < rules_.attempts && tokens_.take(); }
  [[nodiscard]] Duration pause(int made, Random& random) const {
    const Duration base = std::max(2 * rules_.round_trip, rules_.staleness / 2);
    const double mean = to_seconds(base) * static_cast<double>(1U << static_cast<unsigned>(std::clamp(made, 0, 20)));
    return from_seconds(random.unit() * std::min(to_seconds(rules_.most), mean));
  }

 private:
  RefusalRules rules_;
  RetryTokens tokens_;
};

}  // namespace evenkeel::redline
