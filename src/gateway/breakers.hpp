#pragma once

#include <mutex>
#include <vector>

#include "config/settings.hpp"
#include "dispatch/dispatcher.hpp"
#include "fleet/outcome.hpp"

namespace evenkeel::gateway {

/// Whether workers may be routed to: what probes saw (rise and fall), what requests saw (a breaker with a half-open
/// trial), what the operator said (draining). Thread-safe; tells the dispatcher of every change. A worker that
/// answers requests is not taken out by lost probes alone, and breakers never eject more than their cap.
class Breakers {
 public:
  Breakers(const config::HealthSettings& settings, dispatch::Dispatcher& dispatcher, const Clock& clock)
      : settings_(settings), dispatcher_(dispatcher), clock_(clock) {}

  void add(WorkerId worker);
  void probed(WorkerId worker, bool good);
  /// Of one attempt. Client faults, back-pressure and cancellations are neither for nor against the worker.
  void answered(WorkerId worker, fleet::Outcome outcome);
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
  struct Entry {
    bool known = false;
    bool alive = false;  ///< by probes
    int good = 0;        ///< probes in a row
    int bad = 0;
    int faults = 0;  ///< in a row
    bool open = false;
    bool trial = false;
    Time retry_at{};
    Duration open_for{};
    Time last_success = Time::min();
    std::uint64_t ejections = 0;
    std::optional<dispatch::WorkerState> ordered;  ///< draining or removed, by the operator
    dispatch::WorkerState told = dispatch::WorkerState::unroutable;
  };
  using Change = std::optional<dispatch::WorkerState>;

  Entry& entry(WorkerId worker);
  [[nodiscard]] bool may_eject() const;
  /// What the dispatcher must be told, if anything.
  [[nodiscard]] static Change settle(Entry& entry);
  void tell(WorkerId worker, Change change);

  const config::HealthSettings settings_;
  dispatch::Dispatcher& dispatcher_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace evenkeel::gateway
