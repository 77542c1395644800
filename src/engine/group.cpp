#include "engine/group.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <variant>

#include <fmt/format.h>

namespace evenkeel::engine {

EngineGroup::EngineGroup(const EngineConfig& config) : config_(config), steps_(config.ranks) {
  ranks_.reserve(config.ranks);
  for (std::size_t rank = 0; rank < config.ranks; ++rank) ranks_.emplace_back(config_);
}

SubmitOutcome EngineGroup::submit(Time now, const EngineRequest& request) {
  assert(!next_event() || *next_event() >= now);
  if (const auto verdict = judge(config_, request); verdict != SubmitOutcome::accepted) return verdict;
  for (const Rank& rank : ranks_) {
    if (rank.holds(request.id)) return SubmitOutcome::duplicate_id;
  }
  Rank& rank = ranks_[request.rank];
  if (rank.waiting() >= config_.queue_limit) return SubmitOutcome::queue_full;
  rank.submit(request);
  if (!stepping_) boundary_ = now;
  awake_ = true;
  return SubmitOutcome::accepted;
}

bool EngineGroup::abort([[maybe_unused]] Time now, RequestId id) {
  assert(!next_event() || *next_event() >= now);
  return std::ranges::any_of(ranks_, [id](Rank& rank) { return rank.abort(id); });
}

bool EngineGroup::kv_arrived(Time now, RequestId id, bool whole) {
  assert(!next_event() || *next_event() >= now);
  if (!std::ranges::any_of(ranks_, [&](Rank& rank) { return rank.kv_arrived(id, whole); })) return false;
  if (!stepping_) boundary_ = now;
  awake_ = true;
  return true;
}

std::optional<Time> EngineGroup::next_event() const {
  if (stepping_) return step_end_;
  if (wants_step()) return boundary_;
  return std::nullopt;
}

void EngineGroup::advance(Time now, EngineSink& sink) {
  while (true) {
    if (stepping_) {
      if (step_end_ > now) return;
      end_step(sink);
      if (boundary_ == now) return;  // the driver may still give work to the step that starts here
    }
    if (!wants_step() || boundary_ > now) return;
    start_step(sink);
  }
}

bool EngineGroup::has_work() const { return std::ranges::any_of(ranks_, &Rank::has_work); }

bool EngineGroup::wants_step() const { return ranks_.size() == 1 ? ranks_.front().has_work() : awake_; }

void EngineGroup::start_step(EngineSink& sink) {
  const StepLaw& law = std::get<StepLaw>(config_.law);
  Duration longest{0};
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    RankStep& step = steps_[rank];
    step = ranks_[rank].schedule(boundary_, sink);
    step.alone = law.time_of(step, config_.rank_speeds.empty() ? 1.0 : config_.rank_speeds[rank]);
    longest = std::max(longest, step.alone);
  }
  step_end_ = boundary_ + longest;
  stepping_ = true;
}

void EngineGroup::end_step(EngineSink& sink) {
  stepping_ = false;
  sink.on_step({.start = boundary_, .end = step_end_, .ranks = steps_});
  for (Rank& rank : ranks_) rank.complete(step_end_, sink);
  boundary_ = step_end_;
  if (++steps_awake_ % config_.pause_check_steps == 0 && !has_work()) {
    awake_ = false;
    steps_awake_ = 0;
  }
}

Result<void> EngineGroup::check() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (auto ok = ranks_[rank].check(); !ok) {
      return failure(fmt::format("rank {}: {}", rank, ok.error().message));
    }
  }
  if (has_work() && !next_event()) return failure("the group has work and no next event");
  return {};
}

}  // namespace evenkeel::engine
