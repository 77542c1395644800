#include "emulator/gauge_history.hpp"

#include <cstddef>

namespace evenkeel::emulator {
namespace {

std::vector<engine::EngineGauges> take(const engine::EngineModel& model) {
  std::vector<engine::EngineGauges> ranks;
  for (std::size_t rank = 0; rank < model.ranks(); ++rank) ranks.push_back(model.gauges(rank));
  return ranks;
}

}  // namespace

void GaugeHistory::set_lag(Duration lag, Time now, const engine::EngineModel& model) {
  lag_ = lag;
  samples_.clear();
  if (lag_ > Duration::zero()) samples_.push_back({now, take(model)});
}

void GaugeHistory::note(Time now, const engine::EngineModel& model) {
  if (lag_ == Duration::zero()) return;
  constexpr int resolution = 256;
  // Two samples closer than the resolution become one, with the earlier time: never later than true by more.
  const bool close = samples_.size() > 1 && now - samples_.back().at < lag_ / resolution;
  if (close) {
    samples_.back().ranks = take(model);
  } else {
    samples_.push_back({now, take(model)});
  }
  while (samples_.size() > 1 && samples_[1].at <= now - lag_) samples_.pop_front();
}

std::vector<engine::EngineGauges> GaugeHistory::shown(Time now, const engine::EngineModel& model) const {
  if (lag_ == Duration::zero()) return take(model);
  const Sample* shown = &samples_.front();  // set_lag has put one there
  for (const Sample& sample : samples_) {
    if (sample.at <= now - lag_) shown = &sample;
  }
  return shown->ranks;
}

}  // namespace evenkeel::emulator
