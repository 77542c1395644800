#include "simulation/releases.hpp"

#include <algorithm>
#include <limits>

namespace evenkeel::simulation {

Releases::Releases(const Lengths& lengths, const Arrivals& arrivals, std::uint64_t seed)
    : lengths_(lengths),
      arrivals_(arrivals),
      sequence_(lengths, seed),
      gaps_(mix64(seed ^ 0x67617073ULL)),
      total_(arrivals.requests) {
  if (arrivals_.kind == Arrivals::Kind::poisson) next_s_ = gaps_.exponential(1 / arrivals_.rate_per_s);
  if (arrivals_.kind == Arrivals::Kind::trace) load_trace();
}

void Releases::load_trace() {
  const auto& all = lengths_.trace->requests;
  auto count = static_cast<std::uint32_t>(all.size());
  if (total_ > 0) count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, total_));
  total_ = count;
  const double span_s = to_seconds(all.back().arrival);
  if (arrivals_.rate_per_s > 0 && span_s > 0) {
    trace_seconds_per_s_ = arrivals_.rate_per_s * span_s / static_cast<double>(all.size());
  }
  first_after_.assign(count, workload::no_index);
  next_after_.assign(count, workload::no_index);
  for (std::uint32_t place = count; place-- > 0;) {
    const std::uint32_t after = all[place].after;
    if (after == workload::no_index) {
      due_.emplace(scaled(all[place].arrival), place);
    } else {
      next_after_[place] = first_after_[after];
      first_after_[after] = place;
    }
  }
}

Time Releases::scaled(Duration arrival) const { return Time(from_seconds(to_seconds(arrival) / trace_seconds_per_s_)); }

std::optional<Releases::Item> Releases::take(Time now, std::size_t waiting) {
  if (exhausted()) return std::nullopt;
  switch (arrivals_.kind) {
    case Arrivals::Kind::saturated:
      if (waiting >= arrivals_.pool) return std::nullopt;
      ++released_;
      return Item{sequence_.next(), now};
    case Arrivals::Kind::poisson: {
      const Time ready(from_seconds(next_s_));
      if (ready > now) return std::nullopt;
      next_s_ += gaps_.exponential(1 / arrivals_.rate_per_s);
      ++released_;
      return Item{sequence_.next(), ready};
    }
    case Arrivals::Kind::trace: break;
  }
  if (due_.empty() || due_.top().first > now) return std::nullopt;
  const auto [ready, place] = due_.top();
  due_.pop();
  ++released_;
  return Item{sequence_.of_trace(place), ready, place};
}

std::optional<Time> Releases::next() const {
  if (arrivals_.kind == Arrivals::Kind::poisson && !exhausted()) return Time(from_seconds(next_s_));
  if (arrivals_.kind == Arrivals::Kind::trace && !due_.empty()) return due_.top().first;
  return std::nullopt;
}

void Releases::ended(std::uint32_t place, Time now) {
  if (place == workload::no_index) return;
  for (std::uint32_t next = first_after_[place]; next != workload::no_index; next = next_after_[next]) {
    const Duration think = scaled(lengths_.trace->requests[next].think).time_since_epoch();
    due_.emplace(now + think, next);
  }
}

}  // namespace evenkeel::simulation
