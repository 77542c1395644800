#pragma once

#include <vector>

#include "engine/model.hpp"
#include "engine/rank.hpp"

namespace evenkeel::engine {

/// Ranks that share each step: it lasts as long as that of the slowest rank, and a rank without work takes
/// part at the fixed cost (collective layers need every rank). A single rank is a free-running engine.
///
/// A group of several ranks pauses only at every pause_check_steps-th step since it woke, if then no rank
/// has work; until then it makes empty steps, which a new request must sit out.
class EngineGroup final : public EngineModel, public CachedRanks {
 public:
  /// `config` must be valid and have a StepLaw.
  explicit EngineGroup(const EngineConfig& config);
  EngineGroup(const EngineGroup&) = delete;
  EngineGroup& operator=(const EngineGroup&) = delete;

  [[nodiscard]] SubmitOutcome submit(Time now, const EngineRequest& request) override;
  bool abort(Time now, RequestId id) override;
  bool kv_arrived(Time now, RequestId id, bool whole) override;
  [[nodiscard]] std::optional<Time> next_event() const override;
  void advance(Time now, EngineSink& sink) override;
  [[nodiscard]] std::size_t ranks() const override { return ranks_.size(); }
  [[nodiscard]] const EngineGauges& gauges(std::size_t rank) const override { return ranks_[rank].gauges(); }
  [[nodiscard]] EngineBooks books(std::size_t rank) const override { return ranks_[rank].books(); }
  [[nodiscard]] Result<void> check() const override;
  void observe_cache(std::size_t rank, CacheObserver* observer) override {
    if (PrefixCache* const cache = ranks_[rank].cache()) cache->observe(observer);
  }
  void clear_cache(std::size_t rank) override {
    if (PrefixCache* const cache = ranks_[rank].cache()) cache->clear();
  }
  [[nodiscard]] std::size_t cached_blocks(std::size_t rank) const override {
    const PrefixCache* const cache = ranks_[rank].cache();
    return cache == nullptr ? 0 : cache->findable();
  }

 private:
  [[nodiscard]] bool has_work() const;
  [[nodiscard]] bool wants_step() const;
  void start_step(EngineSink& sink);
  void end_step(EngineSink& sink);

  const EngineConfig config_;
  std::vector<Rank> ranks_;
  std::vector<RankStep> steps_;  ///< of the current step, by rank
  bool stepping_ = false;
  bool awake_ = false;
  std::int64_t steps_awake_ = 0;
  Time boundary_{};  ///< when the next step may start; while stepping, when the current one started
  Time step_end_{};
};

}  // namespace evenkeel::engine
