// What a request does about KV that lies, or goes, elsewhere.
#include "emulator/run.hpp"
#include "emulator/text.hpp"

namespace evenkeel::emulator {

using http::Fiber;
using http::Responder;
using http::Task;

void Replica::KvErrand::look_at(const GenerationRequest& request, const KvHandoff& with) {
  if (!request.kv) return;
  keep = with.keeps(*request.kv);
  const bool pull = with.pulls(*request.kv);
  missing = pull && !request.kv->can_pull();
  if (pull && !missing) wanted = request.kv;
}

std::optional<ApiError> Replica::enter_room(KvErrand& kv, const GenerationRequest& request,
                                            std::vector<Sequence>& sequences, Fiber& fiber) {
  if (!bootstrap_ || !request.bootstrap) return std::nullopt;
  if (sequences.size() > 1) return schema_error("a room is for one answer; lists are not emulated", "bootstrap_room");
  kv.leg = bootstrap_->enter(*request.bootstrap, fiber);
  if (!kv.leg) return ApiError{500, "InternalServerError", "The bootstrap room is in use, or the role is both.", ""};
  if (kv.leg->prefill()) {
    sequences.front().output_tokens = 1;
    sequences.front().reason = engine::FinishReason::length;
  }
  return std::nullopt;
}

Task<void> Replica::await_room(Run& run, Responder& responder) {
  const auto meeting = co_await bootstrap_->await_decode(run.inbox.fiber, *run.kv.leg, responder);
  if (meeting == Bootstrap::Meeting::client_gone) run.end = Run::End::client_gone;
  if (meeting == Bootstrap::Meeting::failed) run.end = Run::End::no_kv;
}

void Replica::begin_errand(Run& run) {
  if (run.kv.missing) kv_->count_recomputed(run.ranks.front());
  if (run.kv.wanted) run.renew_at = engine_->now() + kv_->renew_every();
}

Task<void> Replica::await_more(Run& run, Responder& responder, engine::RequestId id) {
  Fiber& fiber = run.inbox.fiber;
  if (std::exchange(run.inbox.pulling, false)) {
    co_await take_kv(run, responder, id);
  } else if (!run.kv.wanted) {
    co_await fiber.wait();
  } else if (engine_->now() >= run.renew_at) {
    co_await kv_->renew(fiber, *run.kv.wanted);
    run.renew_at = engine_->now() + kv_->renew_every();
  } else {
    fiber.set_deadline(engine_->real_time_of(run.renew_at));
    co_await fiber.wait();
    fiber.clear_deadline();
  }
}

Task<void> Replica::take_kv(Run& run, Responder& responder, engine::RequestId id) {
  Sequence& sequence = run.sequences.front();
  bool whole = true;
  if (run.kv.leg) {
    const auto meeting = co_await bootstrap_->await_prefill(run.inbox.fiber, *run.kv.leg, responder);
    if (meeting == Bootstrap::Meeting::client_gone) run.end = Run::End::client_gone;
    if (meeting == Bootstrap::Meeting::failed) run.end = Run::End::no_kv;
  } else {
    const KvOptions& options = kv_->options();
    const KvHandoff::Pull pull =
        co_await kv_->pull(run.inbox.fiber, run.kv.take(), run.ranks.front(), Tokens(sequence.prompt_tokens));
    const bool garbled = pull == KvHandoff::Pull::garbled;
    if (garbled) sequence.key = garbled_text;
    whole = garbled || pull == KvHandoff::Pull::whole;
    const bool fails =
        (garbled && options.error_on_reuse) || (pull == KvHandoff::Pull::failed && !options.recompute_on_failure);
    if (fails) run.end = Run::End::no_kv;
  }
  if (run.end == Run::End::open) engine_->kv_arrived(id, whole);
}

// --- KV that is kept ---------------------------------------------------------------------------------------------

Replica::KeptKv::~KeptKv() {
  if (!kept_ || replica_.engine_->in_service(kept_->id)) return;  // what is in service is aborted instead
  if (run_.kv.leg) {
    replica_.engine_->free_kept(kept_->id);
  } else {
    (void)lease();
  }
}

Task<void> Replica::KeptKv::hand_over(std::string& offer) {
  if (!kept_) co_return;
  if (run_.kv.leg) {
    co_await replica_.bootstrap_->hand_over(run_.inbox.fiber, *run_.kv.leg, Tokens(tokens_));
    replica_.engine_->free_kept(std::exchange(kept_, std::nullopt)->id);
  } else {
    offer = lease();
  }
}

std::string Replica::KeptKv::lease() {
  const std::int64_t block_size = replica_.options_.engine.block_size;
  KvOffer offer;
  offer.request_id = run_.id;
  offer.tokens = tokens_;
  offer.blocks = (tokens_ + block_size - 1) / block_size;
  offer.port = replica_.port();
  return replica_.kv_->open(*std::exchange(kept_, std::nullopt), std::move(offer));
}

}  // namespace evenkeel::emulator
