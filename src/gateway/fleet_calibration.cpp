// What `evenkeel calibrate` measured of an engine counts as long as it is the engine that was measured.
#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "gateway/fleet_control.hpp"

namespace evenkeel::gateway {

http::Task<void> FleetControl::read_version(http::Fiber& fiber, Engine& engine) {
  if (!engine.calibration || !engine.kind_known || engine.adapter->version_path().empty()) co_return;
  const auto answer = co_await get(fiber, engine, engine.adapter->version_path());
  const bool told = answer.status == http::ClientStatus::ok && answer.code == 200;
  engine.version = told ? engines::read_version(answer.body) : "";
}

std::string FleetControl::calibration_fault(const Engine& engine) const {
  if (engine.workers.size() != 1 || engine.workers.front().rank) {
    return fmt::format("it is of the engine as a whole, which has {} ranks, each a worker", engine.ranks);
  }
  const calibrate::Measured& then = engine.calibration->measured;
  calibrate::Measured now;
  now.runtime = engine.kind_known ? std::string(engine.adapter->name()) : "";
  now.version = engine.version;
  const auto card = std::ranges::find(engine.cards, then.served_id, &engines::ModelCard::id);
  if (card != engine.cards.end()) {
    now.served_id = card->id;
    if (card->max_model_len) now.max_model_len = card->max_model_len->value();
  } else if (!engine.cards.empty()) {
    now.served_id = engine.cards.front().id;
  }
  return calibrate::difference(then, now);
}

void FleetControl::follow_calibration(Engine& engine) {
  if (!engine.calibration || !engine.discovered) return;
  const bool counted = engine.calibration_fault.empty();
  const std::string fault = calibration_fault(engine);
  const auto points = engine.calibration->rate_points();
  for (Worker& worker : engine.workers) {
    if (worker.calibrated == fault.empty()) continue;
    worker.calibrated = fault.empty();
    worker.limit.measured(worker.calibrated ? std::optional(engine.calibration->knee.level) : std::nullopt);
    dispatcher_.set_max_in_flight(worker.id, worker.limit.value());
    // Rates drift, so they are what learning begins with; of another engine, what was learned is not true either.
    dispatcher_.begin_rate(worker.id, worker.calibrated ? points : std::vector<fleet::RatePoint>());
  }
  if (fault == engine.calibration_fault) return;
  engine.calibration_fault = fault;
  if (fault.empty()) {
    spdlog::info("worker {}: its calibration counts: {} slots, at most {} requests in flight", engine.name,
                 engine.calibration->knee.level, engine.workers.front().limit.value());
  } else {
    spdlog::warn("worker {}: its calibration {}: {}. What it does is learned from nothing; measure it anew",
                 engine.name, counted ? "counts no more" : "does not count", fault);
  }
}

std::optional<FleetControl::CalibrationFacts> FleetControl::calibration_facts(const Engine& engine) {
  if (!engine.calibration) return std::nullopt;
  return CalibrationFacts{engine.calibration->knee.level, engine.calibration->rate_points(),
                          engine.calibration->measured_at_ms, engine.calibration_fault};
}

}  // namespace evenkeel::gateway
