#pragma once

#include <memory>
#include <vector>

#include "engine/cache_observer.hpp"
#include "engine/model.hpp"

namespace evenkeel::emulator {

/// Data-parallel ranks of a dense model: one front door, and behind it engines that step independently (vLLM since
/// January 2026; only models with experts share their steps). Ids of requests must be unique over all ranks.
class DenseRanks final : public engine::EngineModel, public engine::CachedRanks {
 public:
  /// `config` is of the whole: its ranks become engines of one rank. Error: what engine::validate says of them.
  [[nodiscard]] static Result<std::unique_ptr<DenseRanks>> make(const engine::EngineConfig& config);
  /// The configuration of one of them.
  [[nodiscard]] static engine::EngineConfig config_of_rank(engine::EngineConfig config, std::size_t rank);

  [[nodiscard]] engine::SubmitOutcome submit(Time now, const engine::EngineRequest& request) override;
  bool abort(Time now, engine::RequestId id) override;
  bool kv_arrived(Time now, engine::RequestId id, bool whole) override;
  [[nodiscard]] std::optional<Time> next_event() const override;
  void advance(Time now, engine::EngineSink& sink) override;
  [[nodiscard]] std::size_t ranks() const override { return engines_.size(); }
  [[nodiscard]] const engine::EngineGauges& gauges(std::size_t rank) const override {
    return engines_[rank]->gauges(0);
  }
  [[nodiscard]] engine::EngineBooks books(std::size_t rank) const override { return engines_[rank]->books(0); }
  [[nodiscard]] Result<void> check() const override;
  void observe_cache(std::size_t rank, engine::CacheObserver* observer) override;
  void clear_cache(std::size_t rank) override;
  [[nodiscard]] std::size_t cached_blocks(std::size_t rank) const override;

 private:
  DenseRanks() = default;
  std::vector<std::unique_ptr<engine::EngineModel>> engines_;
};

}  // namespace evenkeel::emulator
