#include "engines/kv_event_feed.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "engines/kv_event_batch.hpp"

namespace evenkeel::engines {

namespace {

/// Blocks that are placed or removed while the lock is held: a request that looks up waits for some ten microseconds.
constexpr std::size_t piece = 64;

}  // namespace

std::string_view to_string(KvFeedState state) {
  switch (state) {
    case KvFeedState::waiting: return "waiting";
    case KvFeedState::live: return "live";
    case KvFeedState::replaying: return "replaying";
    case KvFeedState::silent: return "silent";
    case KvFeedState::away: return "away";
  }
  return "";
}

KvEventFeed::KvEventFeed(Options options)
    : options_(options), sequence_(options.replays), index_(std::make_unique<affinity::ExactIndex>(options.capacity)) {}

// --- what comes ----------------------------------------------------------------------------------------------

void KvEventFeed::published(std::uint64_t number, std::string payload, Time now) {
  taking_at_ = now;
  sequence_.published(number, std::move(payload), now, *this);
  note_sequence();
}

void KvEventFeed::replayed(std::uint64_t number, std::string_view payload, Time now) {
  taking_at_ = now;
  sequence_.replayed(number, payload, now, *this);
  note_sequence();
}

void KvEventFeed::replay_ended(Time now) {
  taking_at_ = now;
  sequence_.replay_ended(now, *this);
  note_sequence();
}

void KvEventFeed::connected(Time now) {
  connected_ = true;
  sequence_.connected(now, *this);
  note_sequence();
}

void KvEventFeed::connection_lost() {
  connected_ = false;
  sequence_.connection_lost();
  note_sequence();
}

void KvEventFeed::tick(Time now) {
  taking_at_ = now;
  sequence_.tick(now, *this);
  note_sequence();
}

void KvEventFeed::malformed() {
  const std::lock_guard lock(mutex_);
  ++status_.unreadable;
}

bool KvEventFeed::take_emptied() { return std::exchange(emptied_, false); }

void KvEventFeed::note_sequence() {
  const std::lock_guard lock(mutex_);
  status_.sequence = sequence_.last();
  status_.whole = whole_since_.value_or(sequence_.whole());
  status_.gaps = sequence_.gaps();
  status_.restarts = sequence_.restarts();
  status_.replays = sequence_.replays();
  if (sequence_.replaying()) {
    status_.state = KvFeedState::replaying;
  } else if (sequence_.in_step()) {
    if (status_.state != KvFeedState::silent) status_.state = KvFeedState::live;
  } else {
    status_.state = connected_ && !sequence_.last() ? KvFeedState::waiting : KvFeedState::away;
  }
}

void KvEventFeed::take(std::string_view payload) {
  {
    const std::lock_guard lock(mutex_);
    ++status_.batches;
    last_batch_ = taking_at_;
    fresh_batch_ = true;
    if (status_.state == KvFeedState::silent) status_.state = KvFeedState::live;
  }
  const auto batch = read_kv_event_batch(payload);
  if (!batch) {
    empty();  // it may have told of evictions
    whole_since_ = false;
    const std::lock_guard lock(mutex_);
    ++status_.unreadable;
    return;
  }
  for (const auto& event : batch->events) {
    std::visit([&](const auto& of) { apply(of); }, event);
  }
  const std::lock_guard lock(mutex_);
  status_.unknown += batch->unknown;
}

void KvEventFeed::lost(affinity::KvLoss why) {
  empty();
  whole_since_.reset();
  if (why == affinity::KvLoss::restart) emptied_ = true;
}

/// A new index is made, and the old one goes, outside the lock: both touch all their memory.
void KvEventFeed::empty() {
  auto fresh = std::make_unique<affinity::ExactIndex>(options_.capacity);
  const std::lock_guard lock(mutex_);
  std::swap(index_, fresh);
}

bool KvEventFeed::windowed(const std::optional<std::uint32_t>& group) const {
  return group && *group < 64 && (windowed_groups_ >> *group & 1U) != 0;
}

void KvEventFeed::apply(const affinity::BlocksStored& stored) {
  if (stored.windowed) {  // such layers hold a prompt's end only, and say nothing of its beginning
    if (stored.group && *stored.group < 64) windowed_groups_ |= std::uint64_t{1} << *stored.group;
    return;
  }
  if (windowed(stored.group)) return;
  const std::size_t size = stored.tokens.size() / stored.blocks.size();
  if (const auto known = index_->block_size(); known != 0 && known != size) empty();  // only this thread changes it
  const auto blocks = std::span(stored.blocks);
  const auto tokens = std::span(stored.tokens);
  std::optional<affinity::BlockName> parent = stored.parent;
  for (std::size_t at = 0; at < blocks.size();) {
    const std::size_t count = std::min(piece, blocks.size() - at);
    const std::lock_guard lock(mutex_);
    const std::size_t placed = index_->store(parent, blocks.subspan(at, count), tokens.subspan(at * size, count * size),
                                             stored.adapter, at == 0 ? stored.extra : 0);
    if (placed < count) {
      status_.unplaced += blocks.size() - at - placed;
      return;
    }
    at += count;
    parent = blocks[at - 1];
  }
}

void KvEventFeed::apply(const affinity::BlocksRemoved& removed) {
  if (windowed(removed.group)) return;
  for (std::size_t at = 0; at < removed.blocks.size();) {
    const std::lock_guard lock(mutex_);
    for (const std::size_t end = std::min(at + piece, removed.blocks.size()); at < end; ++at) {
      (void)index_->remove(removed.blocks[at]);
    }
  }
}

void KvEventFeed::apply(const affinity::BlocksCleared&) {
  empty();
  whole_since_ = true;
  emptied_ = true;
}

// --- what is known ---------------------------------------------------------------------------------------------

void KvEventFeed::served(const Served& now_served, Time now) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(fresh_batch_, false) || now_served.tokens < at_batch_.tokens) {
    at_batch_ = now_served;
    return;
  }
  if (status_.state != KvFeedState::live || now - last_batch_ < options_.silence) return;
  // None of the requests since then can have made more than a block's tokens without filling one. Twice that, as the
  // router's count of tokens is partly an estimate.
  const std::uint64_t requests = now_served.begun - std::min(at_batch_.begun, now_served.begun) + at_batch_.open + 1;
  const std::uint64_t size = std::max<std::uint32_t>(index_->block_size(), 16);
  if (now_served.tokens - at_batch_.tokens > 2 * requests * size) status_.state = KvFeedState::silent;
}

std::optional<Tokens> KvEventFeed::held(const affinity::TokenChain& chain) const {
  const std::lock_guard lock(mutex_);
  if (status_.state != KvFeedState::live) return std::nullopt;
  return Tokens(static_cast<std::int64_t>(index_->held_tokens(chain)));
}

std::uint32_t KvEventFeed::block_size() const {
  const std::lock_guard lock(mutex_);
  return status_.state == KvFeedState::live ? index_->block_size() : 0;
}

KvFeedStatus KvEventFeed::status(Time now) const {
  const std::lock_guard lock(mutex_);
  KvFeedStatus status = status_;
  if (status.batches > 0) status.age = now - last_batch_;
  status.blocks = index_->blocks();
  status.block_size = index_->block_size();
  status.memory_bytes = index_->memory_bytes();
  return status;
}

}  // namespace evenkeel::engines
