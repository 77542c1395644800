#pragma once

#include <deque>
#include <unordered_set>
#include <vector>

#include "engine/model.hpp"

namespace evenkeel::engine {

/// The fluid engine: first come first served into the slots, and every running request advances at the
/// rate table's total for the number running, divided by it; re-evaluated at each start and end. A token
/// appears when its request's progress reaches it.
class RateEngine final : public EngineModel {
 public:
  /// `config` must be valid and have a RateLaw.
  explicit RateEngine(const EngineConfig& config);
  RateEngine(const RateEngine&) = delete;
  RateEngine& operator=(const RateEngine&) = delete;

  [[nodiscard]] SubmitOutcome submit(Time now, const EngineRequest& request) override;
  bool abort(Time now, RequestId id) override;
  /// Goes on at other rates from now on. As validate() wants them in a RateLaw.
  void set_rates(Time now, std::vector<double> tokens_per_s);
  [[nodiscard]] std::optional<Time> next_event() const override;
  void advance(Time now, EngineSink& sink) override;
  [[nodiscard]] std::size_t ranks() const override { return 1; }
  [[nodiscard]] const EngineGauges& gauges(std::size_t) const override { return gauges_; }
  [[nodiscard]] EngineBooks books(std::size_t) const override;
  [[nodiscard]] Result<void> check() const override;

 private:
  struct Job {
    RequestId id = 0;
    std::int64_t prompt = 0;
    Fate fate;
    std::int64_t generated = 0;
    double base = 0;  ///< the common progress at its start

    [[nodiscard]] double next_token() const { return base + static_cast<double>(generated + 1); }
  };

  [[nodiscard]] bool can_start() const;
  void start_waiting(Time at, EngineSink& sink);
  void deliver_due(Time at, EngineSink& sink);
  /// Whether the job goes on.
  bool deliver(Job& job, Time at, EngineSink& sink);
  /// Fixes the common progress at `at` before the number running changes.
  void settle(Time at);
  [[nodiscard]] std::int64_t blocks_of(const Job& job) const;
  void plan_next();
  void take_gauges();

  const EngineConfig config_;
  RateLaw law_;
  std::vector<Job> running_;  ///< in order of start
  std::deque<Job> waiting_;
  std::unordered_set<RequestId> ids_;
  // Processor sharing needs one number: all running requests progress alike, so `progress_` (tokens since
  // the engine was last empty) tells each one's when its `base` is known. It is written down only when the
  // number running changes, so rounding to nanoseconds does not add up token by token.
  double progress_ = 0;
  Time settled_{};         ///< when progress_ was true
  double next_token_ = 0;  ///< progress at the next token of any request
  Time next_token_at_{};
  Time start_at_{};  ///< when a free slot and a waiting request last met
  EngineGauges counters_;
  EngineGauges gauges_;
};

}  // namespace evenkeel::engine
