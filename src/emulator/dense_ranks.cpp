#include "emulator/dense_ranks.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace evenkeel::emulator {
namespace {

/// Tells on what one rank's engine tells, under the rank's own number.
class UnderItsNumber final : public engine::EngineSink {
 public:
  UnderItsNumber(engine::EngineSink& sink, std::size_t rank) : sink_(sink), rank_(rank) {}
  void on_event(const engine::EngineEvent& event) override { sink_.on_event(event); }
  void on_deliveries(Time at, std::span<const engine::Delivery> deliveries) override {
    sink_.on_deliveries(at, deliveries);
  }
  void on_step(const engine::StepReport& report) override {
    engine::StepReport numbered = report;
    numbered.first_rank = rank_;
    stepped_ = true;
    sink_.on_step(numbered);
  }
  [[nodiscard]] bool stepped() const { return stepped_; }

 private:
  engine::EngineSink& sink_;
  std::size_t rank_;
  bool stepped_ = false;
};

}  // namespace

engine::EngineConfig DenseRanks::config_of_rank(engine::EngineConfig config, std::size_t rank) {
  if (rank < config.rank_speeds.size()) config.rank_speeds = {config.rank_speeds[rank]};
  config.ranks = 1;
  return config;
}

Result<std::unique_ptr<DenseRanks>> DenseRanks::make(const engine::EngineConfig& config) {
  std::unique_ptr<DenseRanks> ranks(new DenseRanks);
  for (std::size_t rank = 0; rank < config.ranks; ++rank) {
    auto engine = engine::make_engine(config_of_rank(config, rank));
    if (!engine) return tl::unexpected<Error>(engine.error());
    ranks->engines_.push_back(std::move(*engine));
  }
  return ranks;
}

engine::SubmitOutcome DenseRanks::submit(Time now, const engine::EngineRequest& request) {
  if (request.rank >= engines_.size()) return engine::SubmitOutcome::no_such_rank;
  engine::EngineRequest alone = request;
  alone.rank = 0;
  return engines_[request.rank]->submit(now, alone);
}

bool DenseRanks::abort(Time now, engine::RequestId id) {
  return std::ranges::any_of(engines_, [&](const auto& engine) { return engine->abort(now, id); });
}

bool DenseRanks::kv_arrived(Time now, engine::RequestId id, bool whole) {
  return std::ranges::any_of(engines_, [&](const auto& engine) { return engine->kv_arrived(now, id, whole); });
}

std::optional<Time> DenseRanks::next_event() const {
  std::optional<Time> first;
  for (const auto& engine : engines_) {
    const auto due = engine->next_event();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

void DenseRanks::advance(Time now, engine::EngineSink& sink) {
  while (true) {
    const auto instant = next_event();
    if (!instant || *instant > now) return;
    bool stepped = false;
    for (std::size_t rank = 0; rank < engines_.size(); ++rank) {
      if (engines_[rank]->next_event() != instant) continue;
      UnderItsNumber numbered(sink, rank);
      engines_[rank]->advance(*instant, numbered);
      stepped = stepped || numbered.stepped();
    }
    if (stepped && *instant == now) return;  // the driver may still give work to the steps that start here
  }
}

Result<void> DenseRanks::check() const {
  for (std::size_t rank = 0; rank < engines_.size(); ++rank) {
    if (auto ok = engines_[rank]->check(); !ok) return failure(fmt::format("rank {}: {}", rank, ok.error().message));
  }
  return {};
}

void DenseRanks::observe_cache(std::size_t rank, engine::CacheObserver* observer) {
  if (auto* const cached = dynamic_cast<engine::CachedRanks*>(engines_[rank].get())) cached->observe_cache(0, observer);
}

void DenseRanks::clear_cache(std::size_t rank) {
  if (auto* const cached = dynamic_cast<engine::CachedRanks*>(engines_[rank].get())) cached->clear_cache(0);
}

std::size_t DenseRanks::cached_blocks(std::size_t rank) const {
  const auto* const cached = dynamic_cast<const engine::CachedRanks*>(engines_[rank].get());
  return cached == nullptr ? 0 : cached->cached_blocks(0);
}

}  // namespace evenkeel::emulator
