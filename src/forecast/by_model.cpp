#include "forecast/by_model.hpp"

#include <algorithm>
#include <iterator>

namespace evenkeel::forecast {

ByModel::Entry* ByModel::own(ModelId model) const {
  for (const auto& entry : entries_) {
    if (entry->model == model) return entry.get();
  }
  return nullptr;
}

const ByModel::Entry* ByModel::find(ModelId model) const {
  if (last_ != nullptr && last_->model == model) return last_;
  if (const Entry* const entry = own(model)) return last_ = entry;
  return others_.get();
}

ByModel::Entry ByModel::make_entry(ModelId model) const {
  Entry entry;
  entry.model = model;
  entry.forecast = make_();
  if (options_.guard_tokens > 0) {
    auto guard = std::make_shared<Guard>(std::move(entry.forecast), options_.guard_tokens);
    entry.guard = guard.get();
    entry.forecast = std::move(guard);
  }
  entry.history = History(options_.history);
  return entry;
}

ByModel::Entry& ByModel::of(ModelId model) {
  if (Entry* const entry = own(model)) return *entry;
  if (entries_.size() < most_models) {
    return *entries_.emplace_back(std::make_unique<Entry>(make_entry(model)));
  }
  if (others_ == nullptr) others_ = std::make_unique<Entry>(make_entry(model));
  return *others_;
}

void ByModel::finished(const fleet::LeaseSummary& summary, Time now) {
  Entry& entry = of(summary.model);
  entry.forecast->finished(summary, now);
  if (summary.output_tokens.value() > 0) entry.history.add(EndedRequest::of(summary));
}

void ByModel::running(const fleet::FleetView& fleet, Time now) {
  const auto its = [&](const fleet::RunningView& request) { return request.model == fleet.model; };
  const bool alone = std::all_of(fleet.workers.begin(), fleet.workers.end(), [&](const fleet::WorkerView& worker) {
    return std::all_of(worker.running.begin(), worker.running.end(), its);
  });
  Forecast& forecast = *of(fleet.model).forecast;
  if (alone) return forecast.running(fleet, now);
  running_.clear();
  for (const auto& worker : fleet.workers) {
    std::copy_if(worker.running.begin(), worker.running.end(), std::back_inserter(running_), its);
  }
  workers_.assign(fleet.workers.begin(), fleet.workers.end());
  auto begin = running_.cbegin();
  for (auto& worker : workers_) {
    const auto count = std::count_if(worker.running.begin(), worker.running.end(), its);
    worker.running = std::span(begin, begin + count);
    begin += count;
  }
  fleet::FleetView part = fleet;
  part.workers = workers_;
  forecast.running(part, now);
}

void ByModel::recall(ModelId model, std::span<const EndedRequest> ended) {
  for (const EndedRequest& request : ended) finished(request.summary(model), Time{});
}

void ByModel::copy_history(ModelId model, std::vector<EndedRequest>& to) const {
  to.clear();
  if (const Entry* const entry = own(model)) entry->history.copy_to(to);
}

std::vector<ForecastStatus> ByModel::statuses() const {
  std::vector<ForecastStatus> all;
  for (const auto& entry : entries_) {
    ForecastStatus status{entry->model, entry->history.size(), std::nullopt};
    if (entry->guard != nullptr) status.guard = entry->guard->figures();
    all.push_back(status);
  }
  return all;
}

}  // namespace evenkeel::forecast
