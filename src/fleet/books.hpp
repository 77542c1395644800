#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "fleet/outcome.hpp"

namespace evenkeel::fleet {

/// A reading of one worker's books. Tokens are of open leases only.
struct Load {
  std::int64_t in_flight = 0;
  Tokens prompt_tokens;       ///< of all open leases
  Tokens queued_prompt;       ///< of open leases whose first token has not come: prefill still owed, but for hits
  Tokens generated_tokens;    ///< so far
  std::int64_t decoding = 0;  ///< of those in flight, whose first token has come
  [[nodiscard]] Tokens kv_tokens() const { return prompt_tokens + generated_tokens; }
};

/// What this router has open at one worker, known first-hand. Counters are written by leases from any thread
/// and padded to their own cache lines; nothing else may write them. They never fall below zero: a lease takes
/// away exactly what it put in. (Totals only grow; they feed rates and metrics.)
class alignas(64) WorkerBooks {
 public:
  [[nodiscard]] Load load() const;
  [[nodiscard]] std::uint64_t leases_begun() const { return begun_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t leases_ended() const { return ended_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t generated_ever() const { return generated_ever_.load(std::memory_order_relaxed); }
  /// Prompt tokens whose prefill is done, but for expected hits.
  [[nodiscard]] std::int64_t prefilled_ever() const { return prefilled_ever_.load(std::memory_order_relaxed); }
  /// True while every counter is >= 0 and, with nothing in flight, all are zero. May be asked while leases move.
  [[nodiscard]] bool sound() const;

 private:
  friend class Lease;
  std::atomic<std::int64_t> in_flight_{0};
  std::atomic<std::int64_t> decoding_{0};
  std::atomic<std::int64_t> prompt_{0};
  std::atomic<std::int64_t> queued_prompt_{0};
  std::atomic<std::int64_t> generated_{0};
  std::atomic<std::int64_t> generated_ever_{0};
  std::atomic<std::int64_t> prefilled_ever_{0};
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> ended_{0};
};

/// What a lease was when it ended.
struct LeaseSummary {
  RequestId request;
  WorkerId worker;
  ModelId model;
  Outcome outcome = Outcome::cancelled;
  Tokens prompt_tokens;
  Tokens output_tokens;
  bool had_output = false;
  Duration held{};
  Time granted{};                ///< as the grantor said
  std::uint64_t prompt_key = 0;  ///< as of RunningView
  std::uint32_t place = 0;       ///< of its LeaseProgress, for whoever keeps those
};

/// Output tokens of one open lease, for others to read while it grows.
using LeaseProgress = std::atomic<std::int64_t>;

class Lease;

/// Told of every lease's end, on the thread that ended it, after the load has left the books.
class LeaseObserver {
 public:
  virtual ~LeaseObserver() = default;
  virtual void lease_ended(const LeaseSummary& summary) = 0;
};

/// One request's place at one worker. Its construction is the only way load enters the books and its end the
/// only way load leaves them; it ends exactly once, by end() or, as cancelled, by its destructor. Move-only; used
/// by one thread at a time. The books, clock and observer must outlive it. A negative prompt estimate counts as none.
class Lease {
 public:
  Lease() = default;
  Lease(WorkerBooks& books, LeaseObserver& observer, const Clock& clock, RequestId request, WorkerId worker,
        ModelId model, Tokens prompt);
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { end(Outcome::cancelled); }

  [[nodiscard]] bool open() const { return books_ != nullptr; }
  [[nodiscard]] WorkerId worker() const { return summary_.worker; }
  [[nodiscard]] RequestId request() const { return summary_.request; }
  [[nodiscard]] Tokens prompt_tokens() const { return summary_.prompt_tokens; }
  [[nodiscard]] Tokens output_tokens() const { return summary_.output_tokens; }

  /// `count` more output tokens came; the first call also ends the prefill. Allocates nothing.
  void generated(Tokens count);
  /// The engine's own count: replaces estimate and running sum.
  void settle(Tokens prompt, Tokens output);
  void end(Outcome outcome);

  /// So much of the prompt is expected in the worker's prefix cache, and its prefill therefore not owed. At most once,
  /// before the first token.
  void expect_hit(Tokens tokens);

  /// When it was granted, by the clock of who did; it comes back in the summary.
  void granted_at(Time when) { summary_.granted = when; }

  /// From now on the output tokens are also told to `progress`, which outlives the lease; `key` and `place` come back
  /// in the summary.
  void track(LeaseProgress& progress, std::uint64_t key, std::uint32_t place);

 private:
  void end_prefill();
  void owe(Tokens prefill);
  void tell_progress();

  WorkerBooks* books_ = nullptr;
  LeaseObserver* observer_ = nullptr;
  const Clock* clock_ = nullptr;
  LeaseProgress* progress_ = nullptr;
  LeaseSummary summary_;
  Tokens hit_;   ///< expected
  Tokens owed_;  ///< prefill of the prompt without the hit
  Time begun_{};
};

}  // namespace evenkeel::fleet
