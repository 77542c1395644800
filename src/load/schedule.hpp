#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "workload/trace.hpp"

namespace evenkeel::load {

/// Says which request of a trace starts when. A request is due at its arrival, or, if it follows another,
/// when that one has ended (well or badly) and its think time has passed. Due requests start in the order of
/// their due times as long as fewer than `concurrency` are running. Times count from the start of the replay;
/// the caller brings them. O(log n) a request.
class Schedule {
 public:
  /// Keeps a reference to `trace`. `concurrency` 0: no cap.
  Schedule(const workload::Trace& trace, std::size_t concurrency);

  struct Start {
    workload::RequestIndex place = workload::no_index;
    Duration due{};
    bool held = false;  ///< the cap made it wait
  };
  /// The next request that may start at `now`, or nothing. What it returns counts as running until ended().
  [[nodiscard]] std::optional<Start> start(Duration now);
  void ended(workload::RequestIndex place, Duration now);

  /// When the next request that is not yet due becomes so; nothing if none is known before another one ends.
  [[nodiscard]] std::optional<Duration> next_due() const;
  [[nodiscard]] bool finished() const { return ended_ == total(); }
  [[nodiscard]] std::size_t total() const { return trace_.requests.size(); }
  [[nodiscard]] std::size_t running() const { return running_; }
  /// Due, and not started.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::size_t ended_count() const { return ended_; }

 private:
  using Due = std::pair<Duration, workload::RequestIndex>;

  void pass_independent();
  void take_due(Duration now);

  const workload::Trace& trace_;
  std::size_t concurrency_;
  std::vector<workload::RequestIndex> first_follower_;  // of a request; and then along next_follower_
  std::vector<workload::RequestIndex> next_follower_;
  std::size_t next_independent_ = 0;                                      // in trace_.requests
  std::priority_queue<Due, std::vector<Due>, std::greater<>> followers_;  // their forerunner has ended
  std::deque<Due> waiting_;
  std::size_t held_ = 0;  // so many at the front of waiting_ have met the cap
  std::size_t running_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace evenkeel::load
