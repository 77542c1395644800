#include "simulation/engines.hpp"

namespace evenkeel::simulation {

Engines::Engines(const Setting& setting) : workers_(setting.workers) {
  engine::EngineConfig config = setting.engine;
  config.pause_check_steps = 1;  // in the model that is simulated nobody steps without work
  config.ranks = setting.sync ? setting.workers : 1;
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    if (config.rank_speeds.size() == config.ranks) config.rank_speeds.clear();
    config.rank_speeds.push_back(setting.speed(worker));
    if (config.rank_speeds.size() < config.ranks) continue;
    models_.push_back(engine::make_engine(config).value());
  }
}

std::optional<Time> Engines::next_event() const {
  std::optional<Time> first;
  for (const auto& model : models_) {
    const auto due = model->next_event();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

void Engines::advance(Time now, engine::EngineSink& sink) {
  for (const auto& model : models_) model->advance(now, sink);
}

engine::SubmitOutcome Engines::submit(Time now, std::size_t worker, engine::EngineRequest request) {
  const bool group = models_.size() < workers_;
  request.rank = group ? worker : 0;
  return models_[group ? 0 : worker]->submit(now, request);
}

engine::EngineBooks Engines::books(std::size_t worker) const {
  return models_.size() < workers_ ? models_[0]->books(worker) : models_[worker]->books(0);
}

Result<void> Engines::check() const {
  for (const auto& model : models_) {
    if (auto ok = model->check(); !ok) return ok;
  }
  return {};
}

}  // namespace evenkeel::simulation
