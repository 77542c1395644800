#include "gateway/breakers.hpp"

#include <algorithm>

namespace evenkeel::gateway {

using dispatch::WorkerState;
using fleet::Outcome;

Breakers::Entry& Breakers::entry(WorkerId worker) {
  if (entries_.size() <= worker.value) entries_.resize(worker.value + 1);
  return entries_[worker.value];
}

void Breakers::settle_one(std::size_t place, Changes& changes) {
  Entry& entry = entries_[place];
  const Engine& engine = engine_of(entry);
  WorkerState state = WorkerState::unroutable;
  if (entry.ordered) {
    state = *entry.ordered;
  } else if (engine.alive && !entry.open) {
    state = WorkerState::routable;
  } else if (engine.alive && entry.trial) {
    state = WorkerState::trial;
  }
  if (state == entry.told) return;
  entry.told = state;
  changes.emplace_back(WorkerId{static_cast<std::uint32_t>(place)}, state);
}

void Breakers::settle(const Entry& entry, Changes& changes) {
  for (const std::size_t place : engine_of(entry).workers) settle_one(place, changes);
}

void Breakers::tell(const Changes& changes) {
  for (const auto& [worker, state] : changes) dispatcher_.set_state(worker, state);
}

bool Breakers::may_eject(std::span<Entry* const> more) const {
  constexpr double rounding = 1e-9;
  double live = 0, ejected = 0;
  for (const Entry& entry : entries_) {
    if (!entry.known || entry.ordered || entry.prefills != more.front()->prefills) continue;
    live += share_of_engine(entry);
    if (entry.open) ejected += share_of_engine(entry);
  }
  for (const Entry* const entry : more) ejected += share_of_engine(*entry);
  return ejected <= settings_.ejection_cap * live + rounding;
}

double Breakers::share_of_engine(const Entry& entry) const {
  return 1 / static_cast<double>(std::max<std::size_t>(1, engines_[entry.engine].workers.size()));
}

int Breakers::faults(const Entry& entry) const { return entry.worker_faults + engines_[entry.engine].transport_faults; }

void Breakers::leave(std::size_t place) {
  const Entry& entry = entries_[place];
  if (entry.known) std::erase(engine_of(entry).workers, place);
}

void Breakers::add(WorkerId worker, std::optional<WorkerId> beside, fleet::Role role) {
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    Entry& fresh = entry(worker);
    leave(worker.value);
    fresh = Entry{};
    fresh.known = true;
    fresh.prefills = role == fleet::Role::prefill;
    if (beside) {
      fresh.engine = entries_.at(beside->value).engine;
    } else {
      const auto unused =
          std::find_if(engines_.begin(), engines_.end(), [](const Engine& engine) { return engine.workers.empty(); });
      fresh.engine = static_cast<std::size_t>(unused - engines_.begin());
      if (unused == engines_.end()) engines_.emplace_back();
      engine_of(fresh) = Engine{};
    }
    engine_of(fresh).workers.push_back(worker.value);
    settle_one(worker.value, changes);
  }
  tell(changes);
}

void Breakers::probed(WorkerId worker, bool good) {
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Entry& of = entry(worker);
    Engine& engine = engine_of(of);
    if (good) {
      engine.bad = 0;
      if (++engine.good >= settings_.rise) engine.alive = true;
    } else {
      engine.good = 0;
      // A probe that got lost says less than a request that was just answered.
      const bool answers = engine.last_success != Time::min() &&
                           clock_.now() - engine.last_success < settings_.interval * settings_.fall;
      if (++engine.bad >= settings_.fall && !answers) engine.alive = false;
    }
    settle(of, changes);
  }
  tell(changes);
}

void Breakers::set_usable(WorkerId worker, bool usable) {
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Entry& of = entry(worker);
    engine_of(of).alive = usable;
    settle(of, changes);
  }
  tell(changes);
}

void Breakers::open(Entry& entry, bool by_transport) {
  entry.open = true;
  entry.trial = false;
  entry.by_transport = by_transport;
  entry.open_for =
      entry.open_for == Duration(0) ? settings_.breaker_open : std::min(entry.open_for * 2, settings_.breaker_cap);
  entry.retry_at = clock_.now() + entry.open_for;
  ++entry.ejections;
}

void Breakers::close(Entry& entry) {
  entry.open = entry.trial = false;
  entry.open_for = Duration(0);
}

bool Breakers::worked(Entry& entry) {
  Engine& engine = engine_of(entry);
  engine.last_success = clock_.now();
  if (!engine.troubled) return false;
  engine.transport_faults = 0;
  entry.worker_faults = 0;
  close(entry);
  engine.troubled = false;
  for (const std::size_t place : engine.workers) {
    Entry& rank = entries_[place];
    if (rank.open && rank.by_transport) close(rank);
    engine.troubled = engine.troubled || rank.open || rank.worker_faults > 0;
  }
  return true;
}

void Breakers::failed(Entry& of, bool by_transport) {
  engine_of(of).troubled = true;
  std::vector<Entry*> concerned = {&of};
  if (by_transport) {
    ++engine_of(of).transport_faults;
    for (const std::size_t place : engine_of(of).workers) {
      Entry& sibling = entries_[place];
      if (&sibling != &of && !sibling.ordered) concerned.push_back(&sibling);
    }
  } else {
    ++of.worker_faults;
  }
  std::vector<Entry*> full;
  for (Entry* const entry : concerned) {
    if (entry->trial) {
      open(*entry, by_transport);
    } else if (!entry->open && settings_.breaker_faults > 0 && faults(*entry) >= settings_.breaker_faults) {
      full.push_back(entry);
    }
  }
  if (full.empty() || !may_eject(full)) return;  // an engine goes with all its ranks or not at all
  for (Entry* const entry : full) open(*entry, by_transport);
}

void Breakers::answered(WorkerId worker, Outcome outcome) {
  const bool fault = outcome == Outcome::worker_fault || outcome == Outcome::transport_fault;
  if (!fault && outcome != Outcome::completed) return;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    Entry& of = entry(worker);
    if (fault) {
      failed(of, outcome == Outcome::transport_fault);
    } else if (!worked(of)) {
      return;
    }
    settle(of, changes);
  }
  tell(changes);
}

void Breakers::refused(WorkerId worker) {
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    Entry& of = entry(worker);
    if (of.open) return;
    engine_of(of).troubled = true;
    open(of, false);
    settle(of, changes);
  }
  tell(changes);
}

void Breakers::set_draining(WorkerId worker, bool removed) {
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    entry(worker).ordered = removed ? WorkerState::removed : WorkerState::draining;
    settle_one(worker.value, changes);
  }
  tell(changes);
}

void Breakers::set_active(WorkerId worker) {
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    entry(worker).ordered.reset();
    settle_one(worker.value, changes);
  }
  tell(changes);
}

void Breakers::tick() {
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& of = entries_[i];
      if (!of.open || of.trial || clock_.now() < of.retry_at) continue;
      of.trial = true;
      settle_one(i, changes);
    }
  }
  tell(changes);
}

Breakers::Status Breakers::status(WorkerId worker) const {
  const std::lock_guard lock(mutex_);
  if (worker.value >= entries_.size() || !entries_[worker.value].known) return {};
  const Entry& of = entries_[worker.value];
  return {engines_[of.engine].alive, of.open, of.trial, faults(of), of.ejections};
}

}  // namespace evenkeel::gateway
