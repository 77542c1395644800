#include "load/schedule.hpp"

#include <algorithm>

namespace evenkeel::load {

using workload::no_index;
using workload::RequestIndex;

Schedule::Schedule(const workload::Trace& trace, std::size_t concurrency)
    : trace_(trace),
      concurrency_(concurrency),
      first_follower_(trace.requests.size(), no_index),
      next_follower_(trace.requests.size(), no_index) {
  for (auto place = static_cast<RequestIndex>(total()); place-- > 0;) {
    const RequestIndex after = trace.requests[place].after;
    if (after == no_index) continue;
    next_follower_[place] = first_follower_[after];
    first_follower_[after] = place;
  }
  pass_independent();
}

void Schedule::pass_independent() {
  const auto& requests = trace_.requests;
  while (next_independent_ < requests.size() && requests[next_independent_].after != no_index) {
    ++next_independent_;
  }
}

std::optional<Duration> Schedule::next_due() const {
  std::optional<Duration> next;
  if (next_independent_ < total()) next = trace_.requests[next_independent_].arrival;
  if (!followers_.empty()) next = std::min(next.value_or(Duration::max()), followers_.top().first);
  return next;
}

void Schedule::take_due(Duration now) {
  for (auto next = next_due(); next && *next <= now; next = next_due()) {
    RequestIndex place = no_index;
    if (!followers_.empty() && followers_.top().first == *next) {
      place = followers_.top().second;
      followers_.pop();
    } else {
      place = static_cast<RequestIndex>(next_independent_++);
      pass_independent();
    }
    waiting_.emplace_back(*next, place);
  }
}

std::optional<Schedule::Start> Schedule::start(Duration now) {
  take_due(now);
  if (waiting_.empty()) return std::nullopt;
  if (concurrency_ > 0 && running_ >= concurrency_) {
    held_ = waiting_.size();
    return std::nullopt;
  }
  const Start start{waiting_.front().second, waiting_.front().first, held_ > 0};
  waiting_.pop_front();
  if (held_ > 0) --held_;
  ++running_;
  return start;
}

void Schedule::ended(RequestIndex place, Duration now) {
  --running_;
  ++ended_;
  for (auto next = first_follower_[place]; next != no_index; next = next_follower_[next]) {
    followers_.emplace(now + trace_.requests[next].think, next);
  }
}

}  // namespace evenkeel::load
