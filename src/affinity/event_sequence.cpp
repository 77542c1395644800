#include "affinity/event_sequence.hpp"

#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace evenkeel::affinity {

namespace {

std::uint64_t digest_of(std::string_view payload) { return XXH3_64bits(payload.data(), payload.size()); }

}  // namespace

void EventSequence::published(std::uint64_t number, std::string payload, Time now, Sink& sink) {
  if (replaying_) {
    const bool from_start_again = !pending_.empty() && number <= pending_.back().number;
    if (!from_start_again) return keep(number, std::move(payload), sink);
    lose(KvLoss::restart, sink);
  } else if (last_ && number <= last_->number) {
    lose(KvLoss::restart, sink);
  }
  const bool follows = last_ ? number == last_->number + 1 && !doubtful_ : number == 0;
  if (follows) {
    if (!last_) whole_ = true;
    return take(number, payload, sink);
  }
  if (replays_) {
    begin_replay(now);
    return keep(number, std::move(payload), sink);
  }
  if (last_) lose(KvLoss::gap, sink);
  take(number, payload, sink);
}

void EventSequence::replayed(std::uint64_t number, std::string_view payload, Time now, Sink& sink) {
  // Before a new request is on its way, answers to the old one may still come: those are not of this replay.
  if (!replaying_ || wanted_) return;
  replay_until_ = now + limits_.replay_silence;
  if (compare_) {
    if (number < last_->number) return;
    compare_ = false;
    if (number == last_->number) {
      // Else it is another life of the worker, whose numbers have grown past ours. It is asked for all of them.
      if (digest_of(payload) != last_->digest) replay_anew(KvLoss::restart, now, sink);
      return;
    }
    fall_behind(sink);  // nobody can say whether the worker is the same
  }
  const std::uint64_t next = last_ ? last_->number + 1 : 0;
  if (number < next) return;
  if (number > next && last_) fall_behind(sink);
  if (!last_) whole_ = number == 0;
  take(number, payload, sink);
}

void EventSequence::replay_ended(Time now, Sink& sink) {
  if (!replaying_ || wanted_) return;
  if (compare_) {
    // It has nothing from the last batch on, not even that one: it counts from 0 again, or has forgotten.
    const bool beyond = !pending_.empty() && pending_.front().number > last_->number;
    return replay_anew(beyond ? KvLoss::gap : KvLoss::restart, now, sink);
  }
  take_pending(sink);
}

void EventSequence::connection_lost() {
  away_ = true;
  doubtful_ = last_.has_value();
}

void EventSequence::connected(Time now, Sink& sink) {
  away_ = false;
  if (replays_) return begin_replay(now);
  if (doubtful_) lose(KvLoss::gap, sink);
}

void EventSequence::tick(Time now, Sink& sink) {
  if (!replaying_ || now < replay_until_) return;
  compare_ = false;
  wanted_.reset();
  if (doubtful_) fall_behind(sink);
  take_pending(sink);
}

std::optional<std::uint64_t> EventSequence::take_replay_request() { return std::exchange(wanted_, std::nullopt); }

void EventSequence::take(std::uint64_t number, std::string_view payload, Sink& sink) {
  last_ = Taken{number, digest_of(payload)};
  doubtful_ = false;
  sink.take(payload);
}

/// Ends a replay, too.
void EventSequence::lose(KvLoss why, Sink& sink) {
  ++(why == KvLoss::restart ? restarts_ : gaps_);
  last_.reset();
  whole_ = false;
  doubtful_ = false;
  replaying_ = false;
  compare_ = false;
  wanted_.reset();
  pending_.clear();
  pending_bytes_ = 0;
  sink.lost(why);
}

void EventSequence::begin_replay(Time now) {
  ++replays_begun_;
  replaying_ = true;
  compare_ = last_.has_value();
  wanted_ = last_ ? last_->number : 0;
  replay_until_ = now + limits_.replay_silence;
}

void EventSequence::keep(std::uint64_t number, std::string payload, Sink& sink) {
  pending_bytes_ += payload.size();
  pending_.push_back({number, std::move(payload)});
  if (pending_.size() <= limits_.pending_batches && pending_bytes_ <= limits_.pending_bytes) return;
  Pending newest = std::move(pending_.back());
  lose(KvLoss::gap, sink);
  take(newest.number, newest.payload, sink);
}

/// Something that came before what comes next is missing for good.
void EventSequence::fall_behind(Sink& sink) {
  ++gaps_;
  last_.reset();
  whole_ = false;
  sink.lost(KvLoss::gap);
}

/// What is known is void; the worker is asked for all that it still has.
void EventSequence::replay_anew(KvLoss why, Time now, Sink& sink) {
  std::deque<Pending> pending = std::exchange(pending_, {});
  const std::size_t bytes = pending_bytes_;
  lose(why, sink);
  begin_replay(now);
  pending_ = std::move(pending);
  pending_bytes_ = bytes;
}

/// The replay is over: what waited follows, and what it cannot follow is lost.
void EventSequence::take_pending(Sink& sink) {
  replaying_ = false;
  doubtful_ = false;
  pending_bytes_ = 0;
  for (const Pending& batch : std::exchange(pending_, {})) {
    if (last_ && batch.number <= last_->number) continue;
    if (last_ && batch.number > last_->number + 1) fall_behind(sink);
    if (!last_) whole_ = batch.number == 0;
    take(batch.number, batch.payload, sink);
  }
}

}  // namespace evenkeel::affinity
