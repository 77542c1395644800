#include "gateway/learned_limit.hpp"

#include <algorithm>

namespace evenkeel::gateway {

void LearnedLimit::assume(std::int64_t limit) {
  if (given_) return;
  if (measured_) {
    learned_ = limit;
  } else {
    limit_ = ceiling_ = limit;
  }
}

void LearnedLimit::measured(std::optional<std::int64_t> slots) {
  if (given_ || (!slots && !measured_)) return;
  if (!measured_) learned_ = ceiling_;
  limit_ = ceiling_ = slots.value_or(learned_);
  measured_ = slots.has_value();
}

bool LearnedLimit::learn(const engines::Report& report, bool& preempted) {
  preempted = false;
  if (given_) return false;
  const std::int64_t before = limit_;
  if (report.slots && *report.slots > 0) {
    assume(*report.slots);
    told_ = true;
  } else if (report.preemptions_total) {
    // An engine that preempts was given more than its memory holds; one that has not for a while may try one more.
    const double known = preemptions_.value_or(*report.preemptions_total);
    preemptions_ = report.preemptions_total;
    const double running = report.running.value_or(0);
    if (*report.preemptions_total > known) {
      preempted = true;
      limit_ = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(0.8 * std::min(static_cast<double>(limit_), std::max(running, 1.0))));
    } else if (limit_ < ceiling_ && running >= 0.95 * static_cast<double>(limit_)) {
      ++limit_;
    }
  }
  return limit_ != before;
}

}  // namespace evenkeel::gateway
