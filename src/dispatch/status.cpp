// What the dispatcher shows of itself: to the admin API, the metrics and whoever keeps its forecasts.
#include <algorithm>

#include "dispatch/dispatcher.hpp"

namespace evenkeel::dispatch {

PrefixStatus Dispatcher::prefixes(WorkerId id) const {
  const std::lock_guard lock(mutex_);
  return prefixes_.status(id);
}

std::size_t Dispatcher::prefix_bytes() const {
  const std::lock_guard lock(mutex_);
  return prefixes_.memory_bytes();
}

std::vector<forecast::ForecastStatus> Dispatcher::forecasts() const {
  const std::lock_guard lock(mutex_);
  const auto* const forecasts = policy_->forecasts();
  return forecasts == nullptr ? std::vector<forecast::ForecastStatus>() : forecasts->statuses();
}

void Dispatcher::copy_history(ModelId model, std::vector<forecast::EndedRequest>& to) const {
  const std::lock_guard lock(mutex_);
  to.clear();
  if (const auto* const forecasts = policy_->forecasts()) forecasts->copy_history(model, to);
}

std::vector<WorkerStatus> Dispatcher::workers() const {
  const std::lock_guard lock(mutex_);
  const Time now = clock_.now();
  std::vector<WorkerStatus> all;
  for (const auto& record : roster_.records()) {
    WorkerStatus status;
    status.id = record->id;
    status.spec = record->spec;
    status.state = record->state;
    status.load = record->books.load();
    status.foreign_requests = record->foreign_requests;
    status.foreign_tokens = record->foreign_tokens;
    status.kv_capacity = record->kv_capacity;
    status.rate =
        record->rate_curve().at(std::max(1.0, static_cast<double>(status.load.in_flight) + record->foreign_requests));
    status.reported = record->reported != Time::min();
    status.signal_age = status.reported ? now - record->reported : Duration(0);
    status.leases_begun = record->books.leases_begun();
    status.generated_ever = record->books.generated_ever();
    status.sound = record->books.sound();
    status.prefixes = prefixes_.status(record->id);
    if (redline_) {
      fleet::WorkerView view;
      view_worker(*record, now, view);
      view.load = status.load;
      status.redline = redline_->status(view, now);
    }
    all.push_back(std::move(status));
  }
  return all;
}

bool Dispatcher::routable(ModelId model) const {
  const std::lock_guard lock(mutex_);
  return any_routable(model, {}, {});
}

bool Dispatcher::sound() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(roster_.records().begin(), roster_.records().end(),
                     [](const auto& record) { return record->books.sound(); });
}

HeldTimes Dispatcher::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

PoolStatus Dispatcher::pool() const {
  const std::lock_guard lock(mutex_);
  const Time now = clock_.now();
  PoolStatus status;
  for (const auto& [id, model] : models_) {
    status.drain_per_s += model.drain.per_second(now);
    if (model.pool.empty()) continue;
    status.waiting += model.pool.size();
    status.bytes += model.pool.bytes();
    status.oldest = std::max(status.oldest, now - model.pool.oldest_arrival());
  }
  return status;
}

}  // namespace evenkeel::dispatch
