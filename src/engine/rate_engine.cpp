#include "engine/rate_engine.hpp"

#include <algorithm>
#include <cassert>
#include <variant>

#include <fmt/format.h>

namespace evenkeel::engine {
namespace {

/// Tokens nearer to each other than this (in tokens) appear together.
constexpr double same_instant = 1e-9;

}  // namespace

RateEngine::RateEngine(const EngineConfig& config) : config_(config), law_(std::get<RateLaw>(config_.law)) {}

SubmitOutcome RateEngine::submit(Time now, const EngineRequest& request) {
  assert(!next_event() || *next_event() >= now);
  if (const auto verdict = judge(config_, request); verdict != SubmitOutcome::accepted) return verdict;
  if (ids_.contains(request.id)) return SubmitOutcome::duplicate_id;
  if (static_cast<std::int64_t>(waiting_.size()) >= config_.queue_limit) return SubmitOutcome::queue_full;
  Job job;
  job.id = request.id;
  job.prompt = request.prompt.value();
  job.fate = fate_of(config_, request);
  ids_.insert(request.id);
  waiting_.push_back(job);
  start_at_ = now;
  return SubmitOutcome::accepted;
}

bool RateEngine::abort(Time now, RequestId id) {
  assert(!next_event() || *next_event() >= now);
  if (ids_.erase(id) == 0) return false;
  ++counters_.finished[static_cast<std::size_t>(FinishReason::abort)];
  if (const auto job = std::ranges::find(running_, id, &Job::id); job != running_.end()) {
    settle(now);
    running_.erase(job);
    plan_next();
  } else {
    waiting_.erase(std::ranges::find(waiting_, id, &Job::id));
  }
  start_at_ = now;
  return true;
}

void RateEngine::set_rates(Time now, std::vector<double> tokens_per_s) {
  assert(!next_event() || *next_event() >= now);
  settle(now);
  law_.tokens_per_s = std::move(tokens_per_s);
  plan_next();
}

std::optional<Time> RateEngine::next_event() const {
  if (can_start()) return start_at_;
  if (!running_.empty()) return next_token_at_;
  return std::nullopt;
}

void RateEngine::advance(Time now, EngineSink& sink) {
  while (const auto due = next_event()) {
    if (*due > now) return;
    if (can_start()) {
      start_waiting(*due, sink);
    } else {
      deliver_due(*due, sink);
    }
    take_gauges();
  }
}

bool RateEngine::can_start() const {
  return !waiting_.empty() && static_cast<std::int64_t>(running_.size()) < config_.slots;
}

void RateEngine::start_waiting(Time at, EngineSink& sink) {
  settle(at);
  while (can_start()) {
    running_.push_back(waiting_.front());
    waiting_.pop_front();
    running_.back().base = progress_;
    EngineEvent event;
    event.kind = EngineEvent::Kind::started;
    event.at = at;
    event.id = running_.back().id;
    sink.on_event(event);
  }
  plan_next();
}

void RateEngine::deliver_due(Time at, EngineSink& sink) {
  const double reached = next_token_ + same_instant;
  const auto before = running_.size();
  auto kept = running_.begin();
  for (Job& job : running_) {
    if (job.next_token() > reached || deliver(job, at, sink)) *kept++ = job;
  }
  running_.erase(kept, running_.end());
  if (running_.size() != before) {
    progress_ = next_token_;
    settled_ = at;
    start_at_ = at;
  }
  plan_next();
}

bool RateEngine::deliver(Job& job, Time at, EngineSink& sink) {
  EngineEvent event;
  event.kind = EngineEvent::Kind::tokens;
  event.at = at;
  event.id = job.id;
  event.count = Tokens(1);
  event.first = job.generated == 0;
  if (event.first) counters_.prompt_tokens += Tokens(job.prompt);
  counters_.generation_tokens += event.count;
  ++job.generated;
  sink.on_event(event);
  if (job.generated < job.fate.output) return true;

  event.kind = EngineEvent::Kind::finished;
  event.count = Tokens(0);
  event.first = false;
  event.reason = job.fate.reason;
  ++counters_.finished[static_cast<std::size_t>(event.reason)];
  ids_.erase(job.id);
  sink.on_event(event);
  return false;
}

void RateEngine::settle(Time at) {
  if (running_.empty()) {
    progress_ = 0;
  } else {
    const double each = law_.tokens_per_s_each(static_cast<std::int64_t>(running_.size()));
    progress_ += to_seconds(at - settled_) * each;
  }
  settled_ = at;
}

void RateEngine::plan_next() {
  if (running_.empty()) return;
  next_token_ = std::ranges::min(running_, {}, &Job::next_token).next_token();
  const double each = law_.tokens_per_s_each(static_cast<std::int64_t>(running_.size()));
  next_token_at_ = settled_ + from_seconds(std::max(next_token_ - progress_, 0.0) / each);
}

std::int64_t RateEngine::blocks_of(const Job& job) const {
  return (job.prompt + job.generated + config_.block_size - 1) / config_.block_size;
}

void RateEngine::take_gauges() {
  const EngineBooks now = books(0);
  gauges_ = counters_;
  gauges_.running = now.running;
  gauges_.waiting = now.waiting;
  gauges_.kv_usage = std::min(1.0, static_cast<double>(now.used_blocks) / static_cast<double>(config_.usable_blocks()));
}

EngineBooks RateEngine::books(std::size_t) const {
  EngineBooks books;
  books.running = static_cast<std::int64_t>(running_.size());
  books.waiting = static_cast<std::int64_t>(waiting_.size());
  for (const Job& job : running_) {
    books.used_blocks += blocks_of(job);
    books.kv_tokens += Tokens(job.prompt + job.generated);
  }
  return books;
}

Result<void> RateEngine::check() const {
  if (static_cast<std::int64_t>(running_.size()) > config_.slots) return failure("more requests run than slots");
  if (ids_.size() != running_.size() + waiting_.size()) {
    return failure(fmt::format("{} ids, {} running and {} waiting", ids_.size(), running_.size(), waiting_.size()));
  }
  for (const Job& job : running_) {
    if (!ids_.contains(job.id)) return failure(fmt::format("request {} runs and is not known", job.id));
    if (job.generated >= job.fate.output) return failure(fmt::format("request {} outlives its end", job.id));
  }
  for (const Job& job : waiting_) {
    if (!ids_.contains(job.id)) return failure(fmt::format("request {} waits and is not known", job.id));
    if (job.generated != 0) return failure(fmt::format("request {} waits with output", job.id));
  }
  return {};
}

}  // namespace evenkeel::engine
