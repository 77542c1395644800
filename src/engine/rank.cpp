#include "engine/rank.hpp"

#include <algorithm>
#include <cassert>
#include <variant>

#include "base/random.hpp"

namespace evenkeel::engine {
namespace {

EngineEvent event_of(EngineEvent::Kind kind, Time at, RequestId id) {
  EngineEvent event;
  event.kind = kind;
  event.at = at;
  event.id = id;
  return event;
}

}  // namespace

Rank::Rank(const EngineConfig& config)
    : config_(config), kv_given_(std::get<StepLaw>(config.law).prompt_kv_given), free_blocks_(config.usable_blocks()) {
  running_.reserve(static_cast<std::size_t>(config.slots));
  deliveries_.reserve(static_cast<std::size_t>(config.slots));
  if (config.prefix_cache) cache_.emplace(config.usable_blocks(), config.block_size);
}

void Rank::submit(const EngineRequest& request) {
  if (vacant_.empty()) {
    vacant_.push_back(static_cast<Slot>(sequences_.size()));
    sequences_.emplace_back();
  }
  const Slot slot = vacant_.back();
  vacant_.pop_back();
  Sequence& sequence = sequences_[slot];
  sequence = Sequence{};
  sequence.id = request.id;
  sequence.key = request.key != 0 ? request.key : request.id;
  sequence.prompt = request.prompt.value();
  sequence.fate = fate_of(config_, request);
  sequence.kv_given = kv_given_;
  sequence.remote_kv = request.remote_kv;
  sequence.keep_kv = request.keep_kv;
  if (cache_) cache_->enter(slot, request.prefix, sequence.prompt, sequence.prompt + sequence.fate.output);
  index_.emplace(request.id, slot);
  waiting_.push_back(slot);
}

bool Rank::abort(RequestId id) {
  const auto found = index_.find(id);
  if (found == index_.end()) return false;
  const Slot slot = found->second;
  const Sequence& sequence = sequences_[slot];
  if (sequence.kept) {
    kept_.erase(std::ranges::find(kept_, slot));
    kept_blocks_ -= sequence.blocks;
    remove(slot);
    take_gauges();  // there may be no step for long
    return true;
  }
  if (sequence.running) {
    running_.erase(std::ranges::find(running_, slot));
  } else if (sequence.pulling) {
    pulling_.erase(std::ranges::find(pulling_, slot));
  } else if (std::erase(arrived_, slot) == 0) {
    waiting_.erase(std::ranges::find(waiting_, slot));
  }
  remove(slot);
  ++counters_.finished[static_cast<std::size_t>(FinishReason::abort)];
  return true;
}

bool Rank::kv_arrived(RequestId id, bool whole) {
  const auto found = index_.find(id);
  if (found == index_.end() || !sequences_[found->second].pulling) return false;
  const Slot slot = found->second;
  Sequence& sequence = sequences_[slot];
  sequence.pulling = false;
  sequence.kv_given = whole;
  pulling_.erase(std::ranges::find(pulling_, slot));
  if (whole) {
    arrived_.push_back(slot);
  } else {
    release_kv(sequence);
    waiting_.push_front(slot);
  }
  return true;
}

bool Rank::pull_first(Time at, EngineSink& sink) {
  const Slot slot = waiting_.front();
  Sequence& sequence = sequences_[slot];
  if (!allocate(sequence, sequence.prompt)) return false;
  waiting_.pop_front();
  pulling_.push_back(slot);
  sequence.remote_kv = false;
  sequence.pulling = true;
  sink.on_event(event_of(EngineEvent::Kind::pulling, at, sequence.id));
  return true;
}

void Rank::keep(Slot slot) {
  Sequence& sequence = sequences_[slot];
  kv_tokens_ -= Tokens(sequence.computed);
  sequence.computed = 0;
  sequence.running = false;
  sequence.kept = true;
  kept_.push_back(slot);
  kept_blocks_ += sequence.blocks;
}

RankStep Rank::schedule(Time at, EngineSink& sink) {
  assert(!stepping_);
  RankStep step;
  budget_ = config_.step_token_budget;
  preempted_ = false;
  continue_running(step, at, sink);
  // A preemption says that memory is short: nobody new enters in the same step.
  if (!preempted_) admit_waiting(step, at, sink);
  stepping_ = step.requests > 0;
  return step;
}

std::int64_t Rank::wanted(const Sequence& sequence, std::int64_t missing) const {
  if (missing != 1 || config_.decode_growth == 1) return missing;
  // Of its own key and age, so that a request grows alike wherever and whenever it runs.
  const std::uint64_t drawn = mix64(sequence.key ^ mix64(static_cast<std::uint64_t>(sequence.generated))) >> 32U;
  const auto growth = static_cast<std::int64_t>((drawn * static_cast<std::uint64_t>(config_.decode_growth)) >> 32U);
  return std::min(1 + growth, sequence.fate.output - sequence.generated);
}

void Rank::continue_running(RankStep& step, Time at, EngineSink& sink) {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    Sequence& sequence = sequences_[running_[i]];
    const std::int64_t new_tokens = std::min(wanted(sequence, sequence.missing()), budget_);
    while (sequence.running && !allocate(sequence, new_tokens)) preempt_last(at, sink);
    if (!sequence.running) return;  // it was the last itself
    take_part(sequence, new_tokens, step);
  }
}

void Rank::admit_waiting(RankStep& step, Time at, EngineSink& sink) {
  const auto slots = static_cast<std::size_t>(config_.slots);
  while (budget_ > 0 && running_.size() < slots) {
    const bool pulled = !arrived_.empty();
    std::deque<Slot>& queue = pulled ? arrived_ : waiting_;
    if (queue.empty()) return;
    Sequence& sequence = sequences_[queue.front()];
    if (sequence.remote_kv) {  // who pulls is stepped over
      if (!pull_first(at, sink)) return;
      continue;
    }
    const PrefixCache::Hit hit = pulled ? PrefixCache::Hit{} : look_up(sequence);
    const std::int64_t held = sequence.kv_given ? sequence.prompt - 1 : hit.blocks * config_.block_size;
    const std::int64_t remaining = wanted(sequence, sequence.missing() - held);
    // Who has pulled makes do with the blocks it has: it must never wait for more, as others may wait for its own.
    const std::int64_t new_tokens = std::min({remaining, budget_, pulled ? sequence.room - held : remaining});
    const std::int64_t must_fit = config_.admit_whole_prompt && !pulled ? remaining : new_tokens;
    // Head-of-line blocking: the first that does not fit ends the scan, however small the next may be.
    if (blocks_for(held + must_fit) - sequence.blocks - (hit.blocks - hit.free) > free_blocks_) return;
    if (cache_ && !pulled) admit_hit(sequence, hit);
    // Handed-over KV is used up by the admission: after a preemption the prompt is computed here.
    sequence.kv_given = false;
    sequence.computed = held;
    kv_tokens_ += Tokens(held);
    [[maybe_unused]] const bool fits = allocate(sequence, new_tokens);
    assert(fits);
    sequence.running = true;
    running_.push_back(queue.front());
    queue.pop_front();
    EngineEvent started = event_of(EngineEvent::Kind::started, at, sequence.id);
    started.count = Tokens(hit.blocks * config_.block_size);
    sink.on_event(started);
    take_part(sequence, new_tokens, step);
  }
}

PrefixCache::Hit Rank::look_up(const Sequence& sequence) {
  if (!cache_) return {};
  // The last token is always computed: its output is wanted, not its KV.
  return cache_->find(slot_of(sequence), (sequence.missing() - 1) / config_.block_size);
}

/// Gives the sequence what was just found for it.
void Rank::admit_hit(Sequence& sequence, const PrefixCache::Hit& hit) {
  cache_->take_found(slot_of(sequence));
  free_blocks_ -= hit.free;
  sequence.blocks = hit.blocks;
  sequence.room = hit.blocks * config_.block_size;
  if (sequence.looked_up) return;  // again, after a preemption
  sequence.looked_up = true;
  counters_.prefix_queries += Tokens(sequence.prompt);
  counters_.prefix_hits += Tokens(sequence.room);
}

void Rank::preempt_last(Time at, EngineSink& sink) {
  const Slot slot = running_.back();
  Sequence& victim = sequences_[slot];
  assert(victim.scheduled == 0);
  running_.pop_back();
  release_kv(victim);
  victim.running = false;
  waiting_.push_front(slot);
  preempted_ = true;
  ++counters_.preemptions;
  sink.on_event(event_of(EngineEvent::Kind::preempted, at, victim.id));
}

void Rank::take_part(Sequence& sequence, std::int64_t new_tokens, RankStep& step) {
  // With one token missing the step reads the whole context and adds one: a decode, also when it is the
  // last token of a prompt. Anything longer is a prefill chunk.
  if (sequence.missing() == 1) {
    step.kv_tokens += Tokens(sequence.computed + 1);
  } else {
    const auto fresh = static_cast<double>(new_tokens);
    step.prefill_context += fresh * (static_cast<double>(sequence.computed) + fresh / 2);
  }
  step.new_tokens += Tokens(new_tokens);
  ++step.requests;
  sequence.scheduled = new_tokens;
  budget_ -= new_tokens;
  // Whoever is scheduled behind it in this very step may find its blocks: each layer writes KV before it reads any.
  if (cache_) cache_->fill(slot_of(sequence), sequence.computed + std::min(new_tokens, sequence.missing()));
}

void Rank::complete(Time at, EngineSink& sink) {
  if (!stepping_) return;
  stepping_ = false;
  deliveries_.clear();
  auto still = running_.begin();
  for (const Slot slot : running_) {
    if (deliver(sequences_[slot])) {
      *still++ = slot;
    } else if (sequences_[slot].keep_kv) {
      keep(slot);
    } else {
      remove(slot);
    }
  }
  running_.erase(still, running_.end());
  if (!deliveries_.empty()) sink.on_deliveries(at, deliveries_);
  take_gauges();
}

bool Rank::deliver(Sequence& sequence) {
  if (sequence.scheduled == 0) return true;
  sequence.computed += sequence.scheduled;
  kv_tokens_ += Tokens(sequence.scheduled);
  sequence.scheduled = 0;
  const std::int64_t missing = sequence.missing();
  if (missing > 0) return true;  // a chunk of a prompt

  Delivery& brought = deliveries_.emplace_back();
  brought.id = sequence.id;
  brought.count = static_cast<std::int32_t>(1 - missing);  // the last of them has no KV yet
  brought.first = sequence.generated == 0;
  if (brought.first) counters_.prompt_tokens += Tokens(sequence.prompt);
  counters_.generation_tokens += Tokens(brought.count);
  sequence.generated += brought.count;
  if (sequence.generated < sequence.fate.output) return true;

  brought.finished = true;
  brought.reason = sequence.fate.reason;
  ++counters_.finished[static_cast<std::size_t>(brought.reason)];
  return false;
}

std::int64_t Rank::blocks_for(std::int64_t tokens) const {
  return (tokens + config_.block_size - 1) / config_.block_size;
}

bool Rank::allocate(Sequence& sequence, std::int64_t new_tokens) {
  if (sequence.computed + new_tokens <= sequence.room) return true;  // nearly always; spares the division
  const std::int64_t more = blocks_for(sequence.computed + new_tokens) - sequence.blocks;
  if (more > free_blocks_) return false;
  free_blocks_ -= more;
  if (cache_) cache_->extend(slot_of(sequence), more);
  sequence.blocks += more;
  sequence.room = sequence.blocks * config_.block_size;
  return true;
}

void Rank::release_kv(Sequence& sequence) {
  free_blocks_ += cache_ ? cache_->release(slot_of(sequence)) : sequence.blocks;
  kv_tokens_ -= Tokens(sequence.computed);
  sequence.blocks = 0;
  sequence.room = 0;
  sequence.computed = 0;
}

void Rank::remove(Slot slot) {
  release_kv(sequences_[slot]);
  index_.erase(sequences_[slot].id);
  vacant_.push_back(slot);
}

void Rank::take_gauges() {
  gauges_ = counters_;
  gauges_.running = static_cast<std::int64_t>(running_.size());
  gauges_.deferred = static_cast<std::int64_t>(pulling_.size());
  gauges_.waiting = waiting();
  const std::int64_t usable = config_.usable_blocks();
  gauges_.kv_usage = static_cast<double>(usable - free_blocks_) / static_cast<double>(usable);
}

EngineBooks Rank::books() const {
  return {.running = static_cast<std::int64_t>(running_.size()),
          .waiting = waiting(),
          .pulling = static_cast<std::int64_t>(pulling_.size()),
          .used_blocks = config_.usable_blocks() - free_blocks_,
          .kept_blocks = kept_blocks_,
          .kv_tokens = kv_tokens_};
}

}  // namespace evenkeel::engine
