#include "routing/departures.hpp"

#include "base/random.hpp"

namespace evenkeel::routing {

Departures::Departures(std::shared_ptr<forecast::ByModel> forecast, std::int64_t horizon, std::int64_t refresh)
    : forecast_(std::move(forecast)), horizon_(horizon), refresh_(refresh) {}

void Departures::look(const fleet::FleetView& fleet, Time now) {
  if (horizon_ == 0) return;
  const bool counted = fleet.step > 0;
  since_ = counted ? fleet.step % refresh_ : 0;
  const std::int64_t number = counted ? fleet.step / refresh_ : -1;
  period_ = &periods_[fleet.model];
  if (counted && number == period_->number) return;
  period_->number = number;
  period_->remembered = 0;
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
  if (period_->number < 0) return forecast_->remaining(request, horizon_);
  Remembered& place = period_->place_of(request.id);
  if (place.period == period_->number) return place.remaining;
  fleet::RunningView then = request;
  then.generated -= since_;
  const double remaining = forecast_->remaining(then, horizon_);
  place = {request.id, period_->number, remaining};
  if (++period_->remembered * 2 > period_->memory.size()) period_->grow();
  return remaining;
}

Departures::Remembered& Departures::Period::place_of(RequestId id) {
  const std::size_t mask = memory.size() - 1;
  std::size_t at = mix64(id.value) & mask;
  while (memory[at].period == number && memory[at].id != id) at = (at + 1) & mask;
  return memory[at];
}

void Departures::Period::grow() {
  std::vector<Remembered> old(memory.size() * 2);
  old.swap(memory);
  for (const Remembered& entry : old) {
    if (entry.period == number) place_of(entry.id) = entry;
  }
}

void Departures::ended(const fleet::LeaseSummary& summary, Time now) {
  if (horizon_ > 0) forecast_->finished(summary, now);
}

}  // namespace evenkeel::routing
