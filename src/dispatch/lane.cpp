#include "dispatch/lane.hpp"

#include <algorithm>
#include <cmath>

#include "dispatch/dispatcher.hpp"

namespace evenkeel::dispatch {

namespace {

/// Of workers that share the load evenly: with n requests at each of k, k n in all at the sum of their rates.
std::vector<fleet::RatePoint> sum_of(const std::vector<const fleet::RateCurve*>& curves) {
  std::vector<double> levels;
  for (const fleet::RateCurve* curve : curves) {
    if (!curve->known()) return {};
    for (const fleet::RatePoint& point : curve->points()) {
      if (point.level >= 1) levels.push_back(point.level);
    }
  }
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  std::vector<fleet::RatePoint> sum;
  for (const double level : levels) {
    double rate = 0;
    for (const fleet::RateCurve* curve : curves) rate += curve->at(level);
    sum.push_back({level * static_cast<double>(curves.size()), rate});
  }
  return sum;
}

}  // namespace

Lane Dispatcher::lane(ModelId model) const {
  Lane lane;
  const std::lock_guard lock(mutex_);
  for (const auto& record : roster_.records()) {
    if (record->spec.peer || record->state == WorkerState::removed || !record->serves(model)) continue;
    ++lane.workers;
    const fleet::Load load = record->books.load();
    lane.in_flight += load.in_flight;
    lane.foreign_requests += record->foreign_requests;
    lane.kv_tokens += load.kv_tokens() + record->foreign_tokens;
    lane.kv_capacity += record->kv_capacity;
    lane.generated_ever += record->books.generated_ever();
    lane.prefilled_ever += record->books.prefilled_ever();
    if (!record->takes_requests()) continue;
    lane.routable = true;
    lane.slots += record->spec.max_in_flight;
  }
  if (const auto state = models_.find(model); state != models_.end()) {
    const ModelState& of = state->second;
    lane.waiting = static_cast<std::int64_t>(of.pool.size());
    lane.waiting_tokens = Tokens(std::llround(static_cast<double>(lane.waiting) * of.mean_output));
  }
  return lane;
}

std::vector<fleet::RatePoint> Dispatcher::lane_rates(ModelId model) const {
  std::vector<const fleet::RateCurve*> curves;
  const std::lock_guard lock(mutex_);
  for (const auto& record : roster_.records()) {
    const bool of_lane = !record->spec.peer && record->state != WorkerState::removed && record->serves(model);
    if (of_lane && record->takes_requests()) curves.push_back(&record->rate_curve());
  }
  return sum_of(curves);
}

std::int64_t Dispatcher::in_flight_here(ModelId model) const {
  std::int64_t all = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& record : roster_.records()) {
    if (!record->spec.peer && record->serves(model)) all += record->books.load().in_flight;
  }
  return all;
}

}  // namespace evenkeel::dispatch
