#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "dispatch/running_set.hpp"
#include "dispatch/step_clock.hpp"
#include "dispatch/tape.hpp"
#include "dispatch/worker.hpp"
#include "fleet/books.hpp"
#include "fleet/rate_curve.hpp"
#include "fleet/view.hpp"

namespace evenkeel::dispatch {

/// One worker: what is configured, what was reported, what was learned. Guarded by the dispatcher's lock, but
/// for its books.
struct WorkerRecord {
  WorkerId id;
  WorkerSpec spec;
  WorkerState state = WorkerState::unroutable;
  fleet::WorkerBooks books;
  fleet::RateCurve rate;                       ///< learned
  std::optional<fleet::RateCurve> given_rate;  ///< counts instead
  bool given_rate_wrong = false;               ///< a peer said it, and what is seen of it is another
  std::optional<fleet::RatePoint> seen_rate;   ///< what it did last, as far as its tokens came as they were made
  std::int64_t slots = 0;                      ///< as of WorkerView
  std::uint32_t group = 0;                     ///< as of WorkerView
  fleet::StepTime step_time;                   ///< as given; else that of its group counts
  RunningSet running_leases;                   ///< kept only for a policy that wants_running()
  double foreign_requests = 0;
  Tokens foreign_tokens;
  Tokens kv_capacity;
  Time reported = Time::min();   ///< when the last report was received
  std::int64_t leases = 0;       ///< granted and not told as ended
  std::uint64_t granted_ns = 0;  ///< sum of when these were, modulo 2^64: only differences to it count

  // For learning the rate: sums since `observed`.
  Time changed{};
  Time observed{};
  double running_seconds = 0;
  double busy_seconds = 0;
  double decoding_seconds = 0;
  std::int64_t generated_before = 0;
  std::int64_t running = 0;
  std::int64_t decoding = 0;
  std::deque<std::pair<Time, std::uint64_t>> ended_history;  // (when, leases ended until then), a few seconds

  [[nodiscard]] bool serves(ModelId model) const;
  [[nodiscard]] bool takes_requests() const { return state == WorkerState::routable || state == WorkerState::trial; }
  [[nodiscard]] const fleet::RateCurve& rate_curve() const {
    return given_rate && !given_rate_wrong ? *given_rate : rate;
  }
  /// What a peer says of its own rate counts until it is seen to be off by more than a factor of two.
  void judge_given_rate();
  /// What is granted now, and its end: keeps the ages.
  void begin(fleet::Lease& lease, Time now) {
    lease.granted_at(now);
    ++leases;
    granted_ns += stamp(now);
  }
  void ended(const fleet::LeaseSummary& lease) {
    --leases;
    granted_ns -= stamp(lease.granted);
  }
  /// Summed ages of the leases that are open.
  [[nodiscard]] Duration ages(Time now) const {
    return Duration(static_cast<std::int64_t>(static_cast<std::uint64_t>(leases) * stamp(now) - granted_ns));
  }
  [[nodiscard]] static std::uint64_t stamp(Time when) {
    return static_cast<std::uint64_t>(when.time_since_epoch().count());
  }
  [[nodiscard]] std::int64_t limit() const { return state == WorkerState::trial ? 1 : spec.max_in_flight; }
};

/// The workers of one dispatcher, by id in order of joining. Records never move and never go away, so that leases
/// may point at their books.
class Roster {
 public:
  explicit Roster(BooksReader books) : books_(books) {}

  /// A name that was removed comes back as the same worker; what its engine last reported is forgotten.
  WorkerRecord& add(WorkerSpec spec, Time now);
  [[nodiscard]] WorkerRecord& get(WorkerId id) { return *records_.at(id.value); }
  [[nodiscard]] const WorkerRecord& get(WorkerId id) const { return *records_.at(id.value); }
  [[nodiscard]] const std::vector<std::unique_ptr<WorkerRecord>>& records() const { return records_; }
  [[nodiscard]] bool has_groups() const { return !groups_.empty(); }
  /// Of a worker's group, or null.
  [[nodiscard]] const StepClock* steps_of(const WorkerRecord& worker) const {
    return worker.group == 0 ? nullptr : &groups_[worker.group - 1].steps;
  }

  /// Books changed by one lease at `now`: keeps the integral of concurrency and now and then feeds the curve.
  void note_change(WorkerRecord& worker, Time now);
  /// Counts the steps of the sync groups. Call every 10 to 100 ms.
  void note_steps(Time now);
  /// Remembers how many leases had ended by now, and forgets foreign load whose report is older than `lifetime`:
  /// stale is unknown, neither idle nor full. Call every 50 to 200 ms.
  void note_history(Time now, Duration lifetime);
  /// Foreign load by the interval rule: what is reported minus every lease of ours that was open at any time
  /// from `asked` - slack to `received`. Undercounting costs one short wait at the engine, overcounting would
  /// leave it idle. Impossible values, or a report that comes after a later one, are not read.
  void report(WorkerRecord& worker, const EngineReport& report);

  /// Slack of the interval rule: at least how far an engine's gauges lag.
  static constexpr Duration slack = std::chrono::milliseconds(300);

 private:
  struct SyncGroup {
    std::string name;
    StepClock steps;
    GroupLoad load;  ///< being summed
  };
  [[nodiscard]] std::uint32_t group_named(const std::string& name);

  BooksReader books_;
  std::vector<std::unique_ptr<WorkerRecord>> records_;
  std::vector<SyncGroup> groups_;  ///< by WorkerView::group - 1
};

}  // namespace evenkeel::dispatch
