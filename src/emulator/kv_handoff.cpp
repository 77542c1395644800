#include "emulator/kv_handoff.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "emulator/side_channel.hpp"

namespace evenkeel::emulator {

using http::Fiber;
using http::Task;

namespace {

constexpr std::string_view json_type = "application/json";

}  // namespace

std::shared_ptr<KvHandoff> KvHandoff::start(http::EventLoop& loop, std::shared_ptr<LiveEngine> engine,
                                            const KvOptions& options, std::string engine_id) {
  std::shared_ptr<KvHandoff> handoff(new KvHandoff(loop, std::move(engine), options, std::move(engine_id)));
  handoff->keeper_ = &loop.spawn(keep_leases, handoff);
  return handoff;
}

KvHandoff::KvHandoff(http::EventLoop& loop, std::shared_ptr<LiveEngine> engine, const KvOptions& options,
                     std::string engine_id)
    : loop_(loop),
      engine_(std::move(engine)),
      options_(options),
      engine_id_(std::move(engine_id)),
      leases_(options.lease),
      counters_(engine_->ranks()) {}

bool KvHandoff::keeps(const KvTransferParams& params) const {
  return params.remote_decode && options_.role != Role::decode;
}

bool KvHandoff::pulls(const KvTransferParams& params) const {
  return params.remote_prefill && options_.role != Role::prefill;
}

// --- prefill side ------------------------------------------------------------------------------------------------

Task<void> KvHandoff::keep_leases(Fiber& fiber, std::shared_ptr<KvHandoff> self) {
  while (true) {
    self->expire();
    const auto next = self->leases_.next_expiry();
    if (next) {
      co_await self->engine_->wait_until(fiber, *next);
    } else {
      co_await fiber.wait();
    }
  }
}

void KvHandoff::expire() {
  for (const LeaseTable::Kept& kept : leases_.expire(engine_->now())) {
    engine_->free_kept(kept.id);
    ++counters_[kept.rank].expired;
  }
}

std::string KvHandoff::open(LeaseTable::Kept kept, KvOffer offer) {
  if (closed_) return "null";
  // The name is the engine's own: a client may use one X-Request-Id for several requests.
  offer.request_id += fmt::format("-{:08x}", ++offers_);
  constexpr std::int64_t numbers = 1'000'000;
  offer.first_block = 1 + next_block_;
  next_block_ = (next_block_ + offer.blocks) % numbers;
  offer.engine_id = engine_id_;
  offer.host = options_.host;
  leases_.open(offer.request_id, kept, engine_->now());
  ++counters_[kept.rank].opened;
  keeper_->wake();
  return kv_offer_json(offer);
}

Task<void> KvHandoff::serve(const http::ServerRequest& request, http::Responder& responder) {
  expire();
  simdjson::dom::parser parser;
  auto body = JsonBody::parse(parser, request.body);
  const std::string engine(body ? body->text("remote_engine_id").value_or("") : "");
  const std::string name(body ? body->text("remote_request_id").value_or("") : "");
  const bool pulled = body && body->flag("pulled");
  const bool ours = engine == engine_id_;
  std::string answer;
  int status = 200;
  if (!body || body->fault() || engine.empty() || name.empty()) {
    status = 400;
    answer = R"({"error":"wanted: remote_engine_id and remote_request_id, texts, and for /kv/end pulled"})";
  } else if (request.path == "/kv/renew") {
    const bool held = ours && leases_.renew(name, engine_->now());
    if (held) ++renewed_;
    answer = fmt::format(R"({{"held":{}}})", held);
  } else if (request.path == "/kv/end") {
    const LeaseTable::Found found = ours ? leases_.end(name, pulled) : LeaseTable::Found{};
    KvCounters& counters = counters_[found.kept.rank];
    if (found.standing == LeaseTable::Standing::held) {
      engine_->free_kept(found.kept.id);
      ++(pulled ? counters.pulled : counters.declined);
    } else if (found.standing == LeaseTable::Standing::reused && pulled) {
      ++counters.reused;
    }
    answer = fmt::format(R"({{"standing":"{}"}})", name_of(found.standing));
  } else {
    status = 404;
    answer = R"({"error":"there are /kv/end and /kv/renew"})";
  }
  (void)co_await responder.send(status, json_type, answer);
}

// --- decode side -------------------------------------------------------------------------------------------------

Task<std::optional<std::string>> KvHandoff::tell(Fiber& fiber, KvTransferParams params, std::string path,
                                                 std::string more) {
  std::string body = R"({"remote_engine_id":)";
  append_json_string(body, params.engine_id);
  body += R"(,"remote_request_id":)";
  append_json_string(body, params.request_id);
  body += more + "}";
  return tell_peer(fiber, Peer{params.host, params.port}, std::move(path), std::move(body));
}

Task<KvHandoff::Pull> KvHandoff::pull(Fiber& fiber, KvTransferParams params, std::size_t rank, Tokens tokens) {
  KvCounters& counters = counters_[rank];
  counters.asked_tokens += tokens;
  co_await engine_->wait_until(fiber, engine_->now() + options_.setup + options_.per_token * tokens.value());
  const std::optional<std::string> answer = co_await tell(fiber, params, "/kv/end", R"(,"pulled":true)");
  simdjson::dom::parser parser;
  std::string_view standing;
  if (!answer || parser.parse(*answer)["standing"].get(standing) != simdjson::SUCCESS) {
    ++counters.failed;
    co_return Pull::failed;
  }
  if (standing == name_of(LeaseTable::Standing::held)) {
    ++counters.loaded;
    counters.loaded_tokens += tokens;
    co_return Pull::whole;
  }
  if (standing == name_of(LeaseTable::Standing::reused)) {
    ++counters.failed;
    if (!options_.error_on_reuse) ++counters.garbled;
    co_return Pull::garbled;
  }
  ++counters.recomputed;
  co_return Pull::absent;
}

Task<void> KvHandoff::renew(Fiber& fiber, KvTransferParams params) {
  (void)co_await tell(fiber, std::move(params), "/kv/renew", "");
}

Task<void> KvHandoff::tell_declined(Fiber& fiber, std::shared_ptr<KvHandoff> self, KvTransferParams params) {
  (void)co_await self->tell(fiber, std::move(params), "/kv/end", R"(,"pulled":false)");
}

void KvHandoff::decline(KvTransferParams params) {
  if (!closed_) loop_.spawn(tell_declined, shared_from_this(), std::move(params));
}

}  // namespace evenkeel::emulator
