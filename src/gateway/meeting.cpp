// Prefill and decode on separate workers that meet by themselves: both legs of a request at once.
#include <utility>
#include <vector>

#include "engines/bootstrap.hpp"
#include "gateway/breakers.hpp"
#include "gateway/error_body.hpp"
#include "gateway/exchange.hpp"

namespace evenkeel::gateway {

using fleet::Outcome;

namespace {

/// How long a prefill worker's answer may take to its end once the whole decode is through: it has nothing left to do.
constexpr Duration patience_with_prefill = std::chrono::seconds(1);

constexpr std::uint64_t most_prompts = 1024;

}  // namespace

/// Engines make rooms of their own for further answers to a prompt, in ways that differ; a room that is used twice
/// crashes them. So such requests do not go there.
bool Exchange::can_meet() const {
  const BodySkim::Facts& facts = request_.facts;
  return !request_.streamed && facts.sequences == 1 && facts.list_prompts <= most_prompts;
}

void Exchange::answer_inseparable() {
  request_.attempts = 0;
  request_.outcome = Outcome::client_fault;
  request_.fault = "cannot_be_split";
  if (client_.body != nullptr) client_.keep_alive = false;
  ApiError error;
  error.status = 400;
  error.type = "invalid_request_error";
  error.code = request_.fault;
  error.message =
      "The workers of this model prefill and decode apart, and this request cannot be split: allowed are n = 1, at "
      "most "
      "1024 prompts, and bodies as large as the router keeps.";
  answer_error(shard_, client_, request_, error);
}

http::Task<void> Exchange::run_together() {
  AttemptResult result;
  while (true) {
    Meeting at;
    const Way way = co_await place_both(at, result);
    if (way == Way::over) co_return;
    if (way == Way::again) continue;
    ++request_.attempts;
    split_->took_over = true;
    split_->prefilled_at = at.prefill->id;
    co_await meet(at);
    result = std::move(at.decoded);
    const bool prefill_failed = at.prefilled.outcome != Outcome::completed &&
                                at.prefilled.outcome != Outcome::cancelled && result.outcome == Outcome::cancelled;
    if (prefill_failed) {
      at.prefilled.answered = result.answered;
      result = std::move(at.prefilled);
      request_.worker.clear();  // what is told of the failure is told of the prefill worker
    }
    if (result.answered || result.outcome == Outcome::cancelled || result.outcome == Outcome::completed) break;
    if (prefill_failed) {
      exclude(split_->prefill, *at.prefill, result.outcome);
    } else {
      exclude(submission_, *at.decode, result.outcome);
      suspect_prefill();
    }
    const Way next = co_await retry(result, prefill_failed ? split_->prefill : submission_);
    if (next == Way::over) co_return;
    shard_.counters.transfers_repeated.add();
  }
  book(result);
}

/// A slot at a decode worker first: those are rare, and held for long. Who has one waits for a prefill worker, never
/// the other way round, so nobody waits in a circle.
http::Task<Exchange::Way> Exchange::place_both(Meeting& at, AttemptResult& result) {
  Grant decode, prefill;
  submission_.attempt = split_->prefill.attempt = request_.attempts + 1;
  co_await obtain(submission_, decode);
  if (decode) co_await obtain(split_->prefill, prefill);
  if (!decode || !prefill) {
    answer_unplaced(result);
    co_return Way::over;
  }
  at.decode = shard_.fleet->upstream(decode->lease.worker());
  at.prefill = shard_.fleet->upstream(prefill->lease.worker());
  if (at.decode == nullptr) submission_.excluded.add(decode->lease.worker());
  if (at.prefill == nullptr) split_->prefill.excluded.add(prefill->lease.worker());
  if (at.decode == nullptr || at.prefill == nullptr) co_return Way::again;  // this map is of another moment
  take_receipt(*prefill);                                                   // its expectation counts
  take_receipt(*decode);
  request_.worker = at.decode->name;
  request_.prefill_worker = at.prefill->name;
  at.at_decode = std::move(decode->lease);
  at.at_prefill = std::move(prefill->lease);
  co_return Way::on;
}

http::Task<void> Exchange::meet(Meeting& at) {
  while (true) {
    draw_room(*at.prefill);
    co_await run_legs(at);
    const bool stale = at.prefilled.reused_gave_nothing || at.decoded.reused_gave_nothing;
    if (!stale || at.decoded.answered || client_.gone() || !at.at_prefill.open()) break;
    // A kept connection that died idle: neither worker is to blame. Once more at once, on new ones, in another room.
    at.fresh = true;
    shard_.counters.reused_socket_retries.add();
    shard_.shared.retries.charge(request_.model, shard_.loop.now());
  }
  // A leg that was ended because of the other is neither for nor against its worker.
  shard_.shared.breakers.answered(at.prefill->id, at.prefilled.outcome);
  shard_.shared.breakers.answered(at.decode->id, at.decoded.outcome);
  const bool used = at.decoded.answered || at.decoded.outcome == Outcome::completed;
  if (used || at.prefilled.outcome == Outcome::completed) shard_.counters.transfers.add();
  if (used) shard_.counters.transfers_used.add();
  at.at_prefill.end(at.prefilled.outcome);
  at.at_decode.end(at.decoded.outcome);
}

/// A room of its own for every attempt, and an id of its own with it.
void Exchange::draw_room(const Upstream& prefill) {
  ++request_.prefills;
  std::vector<std::int64_t> rooms(std::max<std::uint64_t>(1, request_.facts.list_prompts));
  for (std::int64_t& room : rooms) room = engines::bootstrap_room(shard_.random.next(), prefill.rank, prefill.ranks);
  request_.body = *engines::bootstrap_body(request_.legs->whole, prefill.bootstrap, rooms);
  request_.up_length = request_.body.size();
}

http::Task<void> Exchange::run_legs(Meeting& at) {
  const Time begun = shard_.loop.now();
  Attempt prefill(shard_, client_, request_, *at.prefill, at.at_prefill, at.fresh, Leg::beside);
  Attempt decode(shard_, client_, request_, *at.decode, at.at_decode, at.fresh);
  bool prefilled = false, decoded = false;
  Time patience = Time::max();
  while (true) {
    if (!prefilled && prefill.advance()) {  // first, so that a fault of this side is seen as such
      prefilled = true;
      at.prefilled = prefill.take_result();
      note_prefilled(at, begun);
      const bool lost = at.prefilled.outcome != Outcome::completed;
      if (lost && !decoded && !decode.content_sent()) decode.abandon(at.prefilled.fault);
    }
    if (!decoded && decode.advance()) {
      decoded = true;
      at.decoded = decode.take_result();
      patience = shard_.loop.now() + patience_with_prefill;
    }
    const bool in_vain = at.decoded.outcome != Outcome::completed || shard_.loop.now() >= patience;
    if (decoded && !prefilled && in_vain) {
      prefill.abandon("");
      continue;
    }
    if (prefilled && decoded) break;
    client_.fiber.set_deadline(
        std::min({prefilled ? Time::max() : prefill.deadline(), decoded ? Time::max() : decode.deadline(), patience}));
    co_await client_.fiber.wait();
  }
  client_.fiber.clear_deadline();
}

void Exchange::note_prefilled(Meeting& at, Time begun) {
  const Duration took = shard_.loop.now() - begun;
  request_.prefilling += took;
  if (at.prefilled.outcome != Outcome::completed) return;
  shard_.counters.prefill.observe(took);
  at.at_prefill.end(Outcome::completed);  // its slot serves the next, though the decode goes on
}

}  // namespace evenkeel::gateway
