#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/config.hpp"
#include "engine/model.hpp"
#include "engine/prefix_cache.hpp"

namespace evenkeel::engine {

/// Scheduler and KV blocks of one rank, step by step, as vLLM V1's: schedule() at the start of a step,
/// complete() at its end. It knows nothing of how long a step lasts.
class Rank {
 public:
  /// `config` must be valid and outlive the rank.
  explicit Rank(const EngineConfig& config);

  /// `request` must have been judged acceptable and its id be new.
  void submit(const EngineRequest& request);
  bool abort(RequestId id);
  bool kv_arrived(RequestId id, bool whole);

  /// Chooses what the step computes and allocates its blocks; tells of starts and preemptions at `at`.
  [[nodiscard]] RankStep schedule(Time at, EngineSink& sink);
  /// Delivers what the step computed, frees what finished, takes the gauges.
  void complete(Time at, EngineSink& sink);

  [[nodiscard]] bool holds(RequestId id) const { return index_.contains(id); }
  [[nodiscard]] bool has_work() const { return !running_.empty() || !waiting_.empty() || !arrived_.empty(); }
  /// Those that pull included.
  [[nodiscard]] std::int64_t waiting() const {
    return static_cast<std::int64_t>(waiting_.size() + pulling_.size() + arrived_.size());
  }
  [[nodiscard]] const EngineGauges& gauges() const { return gauges_; }
  [[nodiscard]] EngineBooks books() const;
  /// Null if it has none.
  [[nodiscard]] PrefixCache* cache() { return cache_ ? &*cache_ : nullptr; }
  [[nodiscard]] const PrefixCache* cache() const { return cache_ ? &*cache_ : nullptr; }
  [[nodiscard]] Result<void> check() const;

 private:
  using Slot = std::uint32_t;  ///< place in sequences_

  struct Sequence {
    RequestId id = 0;
    std::uint64_t key = 0;  ///< of its draws
    std::int64_t prompt = 0;
    Fate fate;
    std::int64_t generated = 0;
    std::int64_t computed = 0;   ///< tokens whose KV is held; prompt first, then generated
    std::int64_t scheduled = 0;  ///< tokens the current step adds to `computed`
    std::int64_t blocks = 0;
    std::int64_t room = 0;  ///< tokens that `blocks` hold
    bool kv_given = false;  ///< its prompt's KV arrives with its admission
    bool running = false;
    bool remote_kv = false;  ///< is still to pull its prompt's KV
    bool pulling = false;
    bool keep_kv = false;
    bool kept = false;       ///< has finished and still holds its blocks
    bool looked_up = false;  ///< in the prefix cache, for the counters

    [[nodiscard]] std::int64_t missing() const { return prompt + generated - computed; }
  };

  void continue_running(RankStep& step, Time at, EngineSink& sink);
  void admit_waiting(RankStep& step, Time at, EngineSink& sink);
  /// The head of the queue starts to pull, if there is room; false if not.
  [[nodiscard]] bool pull_first(Time at, EngineSink& sink);
  void keep(Slot slot);
  void preempt_last(Time at, EngineSink& sink);
  void take_part(Sequence& sequence, std::int64_t new_tokens, RankStep& step);
  /// Tokens that a step would add, were there budget for all, to a sequence with so many missing.
  [[nodiscard]] std::int64_t wanted(const Sequence& sequence, std::int64_t missing) const;
  /// Whether the sequence goes on; false: it has finished. Notes what it brought.
  bool deliver(Sequence& sequence);

  /// What the sequence takes from the prefix cache, if there is one.
  [[nodiscard]] PrefixCache::Hit look_up(const Sequence& sequence);
  void admit_hit(Sequence& sequence, const PrefixCache::Hit& hit);
  [[nodiscard]] Slot slot_of(const Sequence& sequence) const {
    return static_cast<Slot>(&sequence - sequences_.data());
  }

  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const;
  [[nodiscard]] bool allocate(Sequence& sequence, std::int64_t new_tokens);
  void release_kv(Sequence& sequence);
  void remove(Slot slot);
  void take_gauges();

  const EngineConfig& config_;
  const bool kv_given_;
  std::vector<Sequence> sequences_;  ///< slab; places are reused
  std::vector<Slot> vacant_;
  std::unordered_map<RequestId, Slot> index_;
  std::vector<Slot> running_;  ///< in order of admission
  std::deque<Slot> waiting_;
  std::vector<Slot> pulling_;
  std::deque<Slot> arrived_;  ///< have pulled; they hold blocks and so come before all who wait
  std::vector<Slot> kept_;
  std::int64_t kept_blocks_ = 0;
  std::int64_t free_blocks_;
  std::optional<PrefixCache> cache_;
  std::int64_t budget_ = 0;  ///< left in the step being scheduled
  bool preempted_ = false;   ///< in the step being scheduled
  bool stepping_ = false;
  Tokens kv_tokens_;
  std::vector<Delivery> deliveries_;  ///< of the step being completed
  EngineGauges counters_;             ///< only the counting fields are kept here
  EngineGauges gauges_;
};

}  // namespace evenkeel::engine
