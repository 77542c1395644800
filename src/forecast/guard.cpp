#include "forecast/guard.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace evenkeel::forecast {

namespace {

/// By how much the forecast's summed squared error must exceed that of the share, at least: two answers outright wrong.
/// Where few requests end within the question, 5 % of the share's error is less than what a single end makes.
constexpr double least_excess = 2;

}  // namespace

bool GuardFigures::judged() const { return settled >= Guard::least; }

Guard::Guard(std::shared_ptr<Forecast> forecast, std::int64_t tokens)
    : forecast_(std::move(forecast)), tokens_(std::max<std::int64_t>(tokens, 1)) {
  open_.reserve(questions);
}

void Guard::finished(const fleet::LeaseSummary& summary, Time now) {
  if (const auto found = open_.find(summary.request.value); found != open_.end()) {
    const bool outlived = summary.output_tokens.value() > found->second.until;
    if (outlived || summary.outcome == fleet::Outcome::completed) settle(found->second, outlived);
    open_.erase(found);
  }
  ++ends_;
  forecast_->finished(summary, now);
}

void Guard::running(const fleet::FleetView& fleet, Time now) {
  forecast_->running(fleet, now);
  if (ends_ < ends_between) return;
  ends_ = 0;
  ask_about(fleet);
}

void Guard::ask_about(const fleet::FleetView& fleet) {
  std::size_t in_service = 0;
  for (const auto& worker : fleet.workers) in_service += worker.running.size();
  // Of many in service one in so many is asked about, and always the same ones: were it those that are looked at
  // first, or those for which there is room again, some workers or short lives would count for more than others.
  const std::uint64_t one_in = 1 + in_service / questions;
  // Of one who knows nothing yet: that the request stays, as a forecast says then.
  const double share = (still_running_ + 1) / (settled_ + 1);
  for (const auto& worker : fleet.workers) {
    for (const fleet::RunningView& request : worker.running) {
      if (one_in > 1 && mix64(request.id.value) % one_in != 0) continue;
      const auto found = open_.find(request.id.value);
      if (found != open_.end()) {
        if (request.generated <= found->second.until) continue;
        settle(found->second, true);
        open_.erase(found);
      }
      if (open_.size() >= questions) continue;
      open_[request.id.value] = {request.generated + tokens_, forecast_->survival(request, tokens_), share};
    }
  }
}

void Guard::settle(const Question& question, bool still_running) {
  static const double fade = std::exp2(-1 / half_life);
  const double came_true = still_running ? 1 : 0;
  const auto squared_error = [&](double said) { return (said - came_true) * (said - came_true); };
  settled_ = settled_ * fade + 1;
  still_running_ = still_running_ * fade + came_true;
  error_ = error_ * fade + squared_error(question.said);
  base_error_ = base_error_ * fade + squared_error(question.share);
  if (settled_ < least) return;
  const double skill = figures().skill();
  fallen_back_ = fallen_back_ ? skill <= 0 : skill < misleads && error_ - base_error_ > least_excess;
}

GuardFigures Guard::figures() const {
  if (settled_ == 0) return {0, 0, 0, fallen_back_};
  return {settled_, error_ / settled_, base_error_ / settled_, fallen_back_};
}

}  // namespace evenkeel::forecast
