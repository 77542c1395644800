#pragma once

// A small engine for tests of the dispatcher: fluid, first come first served, and with a memory of its gauge.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace evenkeel::dispatch::testing {

/// At most as many requests run as the rate table is long; with k running the engine makes rates[k - 1]
/// tokens a second in all, shared equally. The rest queue in order.
class FluidEngine {
 public:
  explicit FluidEngine(std::vector<double> rates) : rates_(std::move(rates)) {}

  /// Brings progress up to `now` and returns the ids that ended by then, in order.
  std::vector<std::size_t> advance(Time now) {
    std::vector<std::size_t> ended;
    while (!running_.empty()) {
      const Time end = *next_end();
      progress(std::min(end, now));
      if (end > now) break;
      for (const Job& job : running_) {
        if (job.left <= done_below) ended.push_back(job.id);
      }
      std::erase_if(running_, [](const Job& job) { return job.left <= done_below; });
      fill();
      note();
    }
    at_ = now;
    return ended;
  }
  /// After advance(now).
  void submit(std::size_t id, double tokens) {
    queue_.push_back({id, tokens, tokens});
    fill();
    note();
  }
  [[nodiscard]] std::optional<Time> next_end() const {
    if (running_.empty()) return std::nullopt;
    double least = running_.front().left;
    for (const Job& job : running_) least = std::min(least, job.left);
    // Rounded up, so that what ends then has ended.
    return at_ + Duration(static_cast<std::int64_t>(std::ceil(std::max(0.0, least) / speed() * 1e9)));
  }
  /// Requests present (running and queued) as the gauge showed them at `when`; never the present after `at_`.
  [[nodiscard]] double gauge(Time when) const {
    double value = 0;
    for (const auto& [since, present] : history_) {
      if (since > when) break;
      value = present;
    }
    return value;
  }
  [[nodiscard]] double present() const { return static_cast<double>(running_.size() + queue_.size()); }
  /// Calls visit(id, whole tokens so far) for each that runs.
  template <class Visit>
  void each_running(Visit visit) const {
    for (const Job& job : running_) visit(job.id, static_cast<std::int64_t>(job.all - job.left + 1e-6));
  }

 private:
  struct Job {
    std::size_t id = 0;
    double all = 0;
    double left = 0;
  };
  static constexpr double done_below = 1e-6;

  [[nodiscard]] double speed() const { return rates_[running_.size() - 1] / static_cast<double>(running_.size()); }
  void progress(Time to) {
    const double tokens = speed() * to_seconds(to - at_);
    for (Job& job : running_) job.left -= tokens;
    at_ = to;
  }
  void fill() {
    while (!queue_.empty() && running_.size() < rates_.size()) {
      running_.push_back(queue_.front());
      queue_.pop_front();
    }
  }
  void note() {
    history_.emplace_back(at_, present());
    while (history_.size() > 64) history_.pop_front();
  }

  std::vector<double> rates_;
  std::vector<Job> running_;
  std::deque<Job> queue_;
  std::deque<std::pair<Time, double>> history_;
  Time at_{};
};

}  // namespace evenkeel::dispatch::testing
