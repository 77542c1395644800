#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "config/settings.hpp"
#include "dispatch/dispatcher.hpp"
#include "fleet/outcome.hpp"
#include "fleet/view.hpp"

namespace evenkeel::gateway {

/// Whether workers may be routed to: what probes saw (rise and fall), what requests saw (a breaker with a half-open
/// trial), what the operator said (draining). Thread-safe; tells the dispatcher of every change. A worker that
/// answers requests is not taken out by lost probes alone, and breakers never eject more than their cap: of those that
/// prefill for others and of the rest, each by itself, as neither can stand in for the other.
///
/// Workers that are ranks of one engine share what concerns the engine: probes, and faults of the transport, which
/// count for all its ranks. A fault of the worker counts for that rank alone.
class Breakers {
 public:
  Breakers(const config::HealthSettings& settings, dispatch::Dispatcher& dispatcher, const Clock& clock)
      : settings_(settings), dispatcher_(dispatcher), clock_(clock) {}

  /// `beside`: another rank of the same engine; what is known of that engine holds for this worker at once.
  void add(WorkerId worker, std::optional<WorkerId> beside = {}, fleet::Role role = fleet::Role::both);
  /// Of the engine; told once, for any of its workers.
  void probed(WorkerId worker, bool good);
  /// In place of probed(), for a worker whose owner judges its probes by himself.
  void set_usable(WorkerId worker, bool usable);
  /// Of one attempt. Client faults, back-pressure and cancellations are neither for nor against the worker.
  void answered(WorkerId worker, fleet::Outcome outcome);
  /// It said that it is not the worker it is taken for: out at once, whatever the cap. Its trials tell when it is.
  void refused(WorkerId worker);
  void set_draining(WorkerId worker, bool removed);
  void set_active(WorkerId worker);
  /// Opens trials that are due. Call a few times a second.
  void tick();

  struct Status {
    bool probe_good = false;
    bool open = false;
    bool trial = false;
    int faults = 0;
    std::uint64_t ejections = 0;
  };
  [[nodiscard]] Status status(WorkerId worker) const;

 private:
  struct Engine {
    bool alive = false;  ///< by probes
    int good = 0;        ///< probes in a row
    int bad = 0;
    int transport_faults = 0;  ///< in a row, on whichever rank
    bool troubled = false;     ///< a fault of whichever kind has not been forgotten yet
    Time last_success = Time::min();
    std::vector<std::size_t> workers;  ///< places in entries_
  };
  struct Entry {
    bool known = false;
    bool prefills = false;  ///< for others
    std::size_t engine = 0;
    int worker_faults = 0;  ///< in a row
    bool open = false;
    bool trial = false;
    bool by_transport = false;  ///< why it is open: an answer of any rank of the engine closes it again
    Time retry_at{};
    Duration open_for{};
    std::uint64_t ejections = 0;
    std::optional<dispatch::WorkerState> ordered;  ///< draining or removed, by the operator
    dispatch::WorkerState told = dispatch::WorkerState::unroutable;
  };
  using Changes = std::vector<std::pair<WorkerId, dispatch::WorkerState>>;

  Entry& entry(WorkerId worker);
  [[nodiscard]] Engine& engine_of(const Entry& entry) { return engines_[entry.engine]; }
  void leave(std::size_t place);
  [[nodiscard]] int faults(const Entry& entry) const;
  /// False if this changes nothing: nearly always.
  bool worked(Entry& entry);
  void failed(Entry& entry, bool by_transport);
  /// Whether these may be taken out, too; all are of one engine.
  [[nodiscard]] bool may_eject(std::span<Entry* const> more) const;
  /// The cap counts engines: a rank is a part of one.
  [[nodiscard]] double share_of_engine(const Entry& entry) const;
  void open(Entry& entry, bool by_transport);
  static void close(Entry& entry);
  /// Notes what the dispatcher must be told of the workers of the entry's engine, if anything.
  void settle(const Entry& entry, Changes& changes);
  void settle_one(std::size_t place, Changes& changes);
  void tell(const Changes& changes);

  const config::HealthSettings settings_;
  dispatch::Dispatcher& dispatcher_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;   // by WorkerId
  std::vector<Engine> engines_;  // one a worker at most: those of workers that left are used again
};

}  // namespace evenkeel::gateway
