#include "gateway/breakers.hpp"

#include <algorithm>

namespace evenkeel::gateway {

using dispatch::WorkerState;
using fleet::Outcome;

Breakers::Entry& Breakers::entry(WorkerId worker) {
  if (entries_.size() <= worker.value) entries_.resize(worker.value + 1);
  return entries_[worker.value];
}

Breakers::Change Breakers::settle(Entry& entry) {
  WorkerState state = WorkerState::unroutable;
  if (entry.ordered) {
    state = *entry.ordered;
  } else if (entry.alive && !entry.open) {
    state = WorkerState::routable;
  } else if (entry.alive && entry.trial) {
    state = WorkerState::trial;
  }
  if (state == entry.told) return std::nullopt;
  entry.told = state;
  return state;
}

void Breakers::tell(WorkerId worker, Change change) {
  if (change) dispatcher_.set_state(worker, *change);
}

bool Breakers::may_eject() const {
  std::size_t live = 0, ejected = 0;
  for (const Entry& entry : entries_) {
    if (!entry.known || entry.ordered) continue;
    ++live;
    if (entry.open) ++ejected;
  }
  return static_cast<double>(ejected + 1) <= settings_.ejection_cap * static_cast<double>(live);
}

void Breakers::add(WorkerId worker) {
  Change change;
  {
    const std::lock_guard lock(mutex_);
    entry(worker) = Entry{};
    entry(worker).known = true;
    change = settle(entry(worker));
  }
  tell(worker, change);
}

void Breakers::probed(WorkerId worker, bool good) {
  Change change;
  {
    const std::lock_guard lock(mutex_);
    Entry& of = entry(worker);
    if (good) {
      of.bad = 0;
      if (++of.good >= settings_.rise) of.alive = true;
    } else {
      of.good = 0;
      // A probe that got lost says less than a request that was just answered.
      const bool answers =
          of.last_success != Time::min() && clock_.now() - of.last_success < settings_.interval * settings_.fall;
      if (++of.bad >= settings_.fall && !answers) of.alive = false;
    }
    change = settle(of);
  }
  tell(worker, change);
}

void Breakers::answered(WorkerId worker, Outcome outcome) {
  const bool fault = outcome == Outcome::worker_fault || outcome == Outcome::transport_fault;
  if (!fault && outcome != Outcome::completed) return;
  Change change;
  {
    const std::lock_guard lock(mutex_);
    Entry& of = entry(worker);
    if (!fault) {
      of.last_success = clock_.now();
      of.faults = 0;
      of.open = of.trial = false;
      of.open_for = Duration(0);
    } else {
      ++of.faults;
      const bool trip = of.trial || (!of.open && settings_.breaker_faults > 0 &&
                                     of.faults >= settings_.breaker_faults && may_eject());
      if (trip) {
        of.open = true;
        of.trial = false;
        of.open_for =
            of.open_for == Duration(0) ? settings_.breaker_open : std::min(of.open_for * 2, settings_.breaker_cap);
        of.retry_at = clock_.now() + of.open_for;
        ++of.ejections;
      }
    }
    change = settle(of);
  }
  tell(worker, change);
}

void Breakers::set_draining(WorkerId worker, bool removed) {
  Change change;
  {
    const std::lock_guard lock(mutex_);
    entry(worker).ordered = removed ? WorkerState::removed : WorkerState::draining;
    change = settle(entry(worker));
  }
  tell(worker, change);
}

void Breakers::set_active(WorkerId worker) {
  Change change;
  {
    const std::lock_guard lock(mutex_);
    entry(worker).ordered.reset();
    change = settle(entry(worker));
  }
  tell(worker, change);
}

void Breakers::tick() {
  std::vector<std::pair<WorkerId, Change>> changes;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& of = entries_[i];
      if (!of.open || of.trial || clock_.now() < of.retry_at) continue;
      of.trial = true;
      changes.emplace_back(WorkerId{static_cast<std::uint32_t>(i)}, settle(of));
    }
  }
  for (const auto& [worker, change] : changes) tell(worker, change);
}

Breakers::Status Breakers::status(WorkerId worker) const {
  const std::lock_guard lock(mutex_);
  if (worker.value >= entries_.size()) return {};
  const Entry& of = entries_[worker.value];
  return {of.alive, of.open, of.trial, of.faults, of.ejections};
}

}  // namespace evenkeel::gateway
