#include "routing/departures.hpp"

#include "base/random.hpp"

namespace evenkeel::routing {

Departures::Departures(std::shared_ptr<forecast::Forecast> forecast, std::int64_t horizon, std::int64_t refresh)
    : forecast_(std::move(forecast)), horizon_(horizon), refresh_(refresh), memory_(256) {}

void Departures::look(const fleet::FleetView& fleet, Time now) {
  if (horizon_ == 0) return;
  const bool counted = fleet.step > 0;
  since_ = counted ? fleet.step % refresh_ : 0;
  const std::int64_t period = counted ? fleet.step / refresh_ : -1;
  if (counted && period == period_) return;
  period_ = period;
  remembered_ = 0;
  forecast_->running(fleet, now);
}

std::int64_t Departures::leaves_at(const fleet::RunningView& request) {
  const std::int64_t stays = window() + 1;
  if (request.generated < since_) return stays;
  const double left = remaining(request) - static_cast<double>(since_);
  if (since_ > 0 && left < 1) return stays;
  if (!(left < static_cast<double>(window()))) return stays;
  if (left <= 1) return 1;
  const auto whole = static_cast<std::int64_t>(left);
  return whole + (static_cast<double>(whole) < left ? 1 : 0);
}

double Departures::remaining(const fleet::RunningView& request) {
  if (period_ < 0) return forecast_->remaining(request, horizon_);
  Remembered& place = place_of(request.id);
  if (place.period == period_) return place.remaining;
  fleet::RunningView then = request;
  then.generated -= since_;
  const double remaining = forecast_->remaining(then, horizon_);
  place = {request.id, period_, remaining};
  if (++remembered_ * 2 > memory_.size()) grow();
  return remaining;
}

Departures::Remembered& Departures::place_of(RequestId id) {
  const std::size_t mask = memory_.size() - 1;
  std::size_t at = mix64(id.value) & mask;
  while (memory_[at].period == period_ && memory_[at].id != id) at = (at + 1) & mask;
  return memory_[at];
}

void Departures::grow() {
  std::vector<Remembered> old(memory_.size() * 2);
  old.swap(memory_);
  for (const Remembered& entry : old) {
    if (entry.period == period_) place_of(entry.id) = entry;
  }
}

void Departures::ended(const fleet::LeaseSummary& summary, Time now) {
  if (horizon_ > 0) forecast_->finished(summary, now);
}

}  // namespace evenkeel::routing
