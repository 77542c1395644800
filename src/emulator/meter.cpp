#include "emulator/meter.hpp"

#include <algorithm>

namespace evenkeel::emulator {
namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

maths::Histogram tpot_histogram() { return maths::Histogram(0.0005, 1e-3, 1e8); }

}  // namespace

Meter::Meter(std::size_t ranks, std::int64_t slots, bool by_step)
    : ranks_(static_cast<double>(ranks)),
      slots_(ranks_ * static_cast<double>(slots)),
      by_step_(by_step),
      tpots_ms_(tpot_histogram()) {
  restart(Time{});
}

void Meter::restart(Time now) {
  counting_ = !by_step_;
  since_ = now;
  first_ = now;
  last_ = now;
  weight_ = imbalance_ = idle_ = load_ = running_ = steps_ms_ = 0;
  steps_ = tokens_ = late_steps_ = 0;
  longest_lag_ = Duration::zero();
  tpots_ms_.clear();
}

void Meter::look(Time now, const engine::EngineModel& model) {
  if (!by_step_ && now > last_) {
    account(to_seconds(now - last_));
    last_ = now;
  }
  standing_ = {};
  for (std::size_t rank = 0; rank < model.ranks(); ++rank) {
    const engine::EngineBooks books = model.books(rank);
    // A decode reads what is held and the token it computes.
    const double load = books.kv_tokens.as_double() + static_cast<double>(books.running);
    standing_.sum += load;
    standing_.largest = std::max(standing_.largest, load);
    standing_.running += static_cast<double>(books.running);
  }
}

void Meter::look_between(Time now, const engine::EngineModel& model) {
  if (!by_step_) look(now, model);
}

void Meter::account(double weight) {
  const double imbalance = ranks_ * standing_.largest - standing_.sum;
  weight_ += weight;
  imbalance_ += weight * imbalance;
  idle_ += weight * share(imbalance, ranks_ * standing_.largest);
  load_ += weight * standing_.sum / ranks_;
  running_ += weight * standing_.running;
}

void Meter::step(const engine::StepReport& report, Time told, bool late) {
  const bool work = std::ranges::any_of(report.ranks, [](const auto& rank) { return rank.requests > 0; });
  if (by_step_) counting_ = work && report.start >= since_;
  if (!counting_ || !work) return;
  if (by_step_) {
    if (steps_ == 0) first_ = report.start;
    last_ = report.end;
    account(1);
  }
  ++steps_;
  steps_ms_ += to_millis(report.end - report.start);
  if (late) ++late_steps_;
  longest_lag_ = std::max(longest_lag_, told - report.end);
}

void Meter::tokens(std::int64_t count) {
  if (counting_) tokens_ += count;
}

void Meter::finished(Duration served, std::int64_t output) {
  if (counting_) tpots_ms_.add(to_millis(served) / static_cast<double>(output));
}

Measured Meter::result() const {
  Measured measured;
  measured.window_s = to_seconds(last_ - first_);
  measured.steps = steps_;
  measured.step_ms = share(steps_ms_, static_cast<double>(steps_));
  measured.mean_imbalance = share(imbalance_, weight_);
  measured.idle = share(idle_, weight_);
  measured.mean_load = share(load_, weight_);
  measured.occupancy = share(running_, weight_ * slots_);
  measured.tokens = tokens_;
  measured.throughput = share(static_cast<double>(tokens_), measured.window_s);
  measured.requests = static_cast<std::int64_t>(tpots_ms_.count());
  measured.tpot_p50_ms = tpots_ms_.percentile(50);
  measured.tpot_p95_ms = tpots_ms_.percentile(95);
  measured.tpot_p99_ms = tpots_ms_.percentile(99);
  measured.late_steps = late_steps_;
  measured.longest_lag_ms = to_millis(longest_lag_);
  return measured;
}

}  // namespace evenkeel::emulator
