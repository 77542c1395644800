// The life of one generation request: plan, submit, deliver step by step, end truthfully or as a fault says.
#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "emulator/rank_header.hpp"
#include "emulator/replica.hpp"
#include "emulator/text.hpp"

namespace evenkeel::emulator {

using http::Fiber;
using http::Responder;
using http::ServerRequest;
using http::Task;

namespace {

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Sequences in the engine: whatever ends the request, those still there are aborted.
class Submitted {
 public:
  explicit Submitted(LiveEngine& engine) : engine_(engine) {}
  Submitted(const Submitted&) = delete;
  Submitted& operator=(const Submitted&) = delete;
  ~Submitted() {
    for (const auto id : ids_) engine_.abort(id);
  }
  void add(engine::RequestId id) { ids_.push_back(id); }
  [[nodiscard]] const std::vector<engine::RequestId>& ids() const { return ids_; }

 private:
  LiveEngine& engine_;
  std::vector<engine::RequestId> ids_;
};

tl::expected<std::optional<std::int64_t>, ApiError> told_length(const ServerRequest& request) {
  const auto header = request.field("X-Emulate-Output-Tokens");
  if (!header) return std::nullopt;
  return parse_told_length(*header);
}

/// KV that lies at a prefill engine for this request. If it is not pulled in the end, that one is told.
class WantedKv {
 public:
  explicit WantedKv(std::shared_ptr<KvHandoff> handoff) : handoff_(std::move(handoff)) {}
  WantedKv(const WantedKv&) = delete;
  WantedKv& operator=(const WantedKv&) = delete;
  ~WantedKv() {
    if (params_) handoff_->decline(*std::move(params_));
  }
  void set(const KvTransferParams& params) { params_ = params; }
  [[nodiscard]] explicit operator bool() const { return params_.has_value(); }
  [[nodiscard]] const KvTransferParams& params() const { return *params_; }
  [[nodiscard]] KvTransferParams take() {
    KvTransferParams params = *std::move(params_);
    params_.reset();
    return params;
  }

 private:
  std::shared_ptr<KvHandoff> handoff_;
  std::optional<KvTransferParams> params_;
};

}  // namespace

/// The blocks of a request that is prefilled for somebody else. Once the engine has finished it they are under a lease,
/// however the answer ends: a client that goes between the two leaves them there until then.
class Replica::KeptKv {
 public:
  explicit KeptKv(Replica& replica) : replica_(replica) {}
  KeptKv(const KeptKv&) = delete;
  KeptKv& operator=(const KeptKv&) = delete;
  ~KeptKv() { (void)hand_over(); }
  void keep(LeaseTable::Kept kept, std::string id, std::int64_t tokens) {
    kept_ = kept;
    offer_.request_id = std::move(id);
    offer_.tokens = tokens;
  }
  /// What the answer says of it.
  std::string hand_over() {
    if (!kept_ || replica_.engine_->in_service(kept_->id)) return "null";
    const LeaseTable::Kept kept = *std::exchange(kept_, std::nullopt);
    const std::int64_t block_size = replica_.options_.engine.block_size;
    offer_.blocks = (offer_.tokens + block_size - 1) / block_size;
    offer_.port = replica_.port();
    return replica_.kv_->open(kept, std::move(offer_));
  }

 private:
  Replica& replica_;
  std::optional<LeaseTable::Kept> kept_;
  KvOffer offer_;
};

tl::expected<std::optional<std::size_t>, ApiError> Replica::rank_of(const ServerRequest& request) const {
  if (faults_.now().ignore_rank_header) return own_rank_;
  // One process a rank: the number is local to it.
  auto asked = asked_rank(request.field("X-data-parallel-rank"), own_rank_ ? 1 : engine_->ranks());
  if (asked && own_rank_) return own_rank_;
  return asked;
}

/// One request while it is in the engine.
struct Replica::Run {
  enum class End : std::uint8_t { open, complete, client_gone, died, truncated, no_kv };

  std::vector<Sequence>& sequences;
  AnswerShape& shape;
  Inbox inbox;
  WantedKv& wanted_kv;
  std::string_view id;
  bool keep_kv = false;
  bool kv_missing = false;  ///< it says that its KV lies elsewhere, and not where
  std::string kv_offer = "null";
  Time renew_at{};  ///< engine time: when the prefill side is to hear that the KV is still wanted
  std::optional<std::size_t> asked_rank{};  ///< none: the engine chooses, for each sequence
  std::vector<std::size_t> ranks{};         ///< of each sequence
  bool stream = false;
  Time arrived;                 ///< engine time
  std::vector<Time> last_at{};  ///< engine time of each sequence's last token
  std::size_t left = 0;         ///< sequences that are not finished
  std::int64_t delivered = 0;
  End end = End::open;
};

std::string Replica::make_id(const ServerRequest& request, const GenerationRequest& generation) {
  constexpr std::size_t longest = 512;
  std::string_view given = trim(request.field("X-Request-Id").value_or(""));
  if (given.empty() || given.size() > longest) given = generation.request_id;
  const std::string own = given.empty() ? fmt::format("{:016x}{:016x}", ids_.next(), ids_.next()) : std::string(given);
  return std::string(id_prefix(generation.endpoint)) + own;
}

void Replica::remember(std::string id, std::string body) {
  constexpr std::size_t kept = 256;
  constexpr std::size_t largest = 1U << 20U;
  if (body.size() > largest) return;
  stored_.emplace_back(std::move(id), std::move(body));
  if (stored_.size() > kept) stored_.pop_front();
}

Task<void> Replica::generate(Fiber& fiber, const ServerRequest& request, Responder& responder, Endpoint endpoint) {
  const auto generation = parse_generation(endpoint, request.body, options_.model);
  const auto told = told_length(request);
  if (!generation || !told) {
    (void)co_await refuse(responder, generation ? told.error() : generation.error(), endpoint);
    co_return;
  }
  WantedKv wanted_kv(kv_);
  const bool pulls = kv_ && generation->kv && kv_->pulls(*generation->kv);
  if (pulls && generation->kv->can_pull()) wanted_kv.set(*generation->kv);
  const PlanRules rules{options_.engine.model_length().value(), options_.seed, &options_.draw_output};
  auto sequences = plan(*generation, *told, rules);
  if (!sequences) {
    (void)co_await refuse(responder, sequences.error(), endpoint);
    co_return;
  }
  const std::string id = make_id(request, *generation);
  const Answer answer{id, unix_seconds(), options_.model, *generation, *sequences};
  const auto shape = make_shape(answer);

  const auto rank = rank_of(request);
  std::optional<ApiError> early;
  if (!rank) early = rank.error();
  if (faults_.now().error_event_first) early = injected_error(500);
  if (early && !generation->stream) {
    (void)co_await refuse(responder, *early, endpoint);
    co_return;
  }
  if (generation->stream && !co_await responder.begin_stream(200, "text/event-stream; charset=utf-8")) co_return;
  if (early) {  // found by vLLM only when the answer has begun
    std::string out;
    shape->fail(out, *early);
    if (co_await responder.write(out)) (void)co_await responder.end_stream();
    co_return;
  }

  Run run{*sequences, *shape, Inbox{fiber}, wanted_kv, id};
  // Several answers cannot share what is handed over once.
  if (sequences->size() > 1 && wanted_kv) kv_->decline(wanted_kv.take());
  run.kv_missing = pulls && !generation->kv->can_pull();
  run.keep_kv = kv_ && generation->kv && kv_->keeps(*generation->kv) && sequences->size() == 1;
  run.stream = generation->stream;
  run.asked_rank = *rank;
  run.arrived = engine_->now();
  run.last_at.assign(sequences->size(), run.arrived);
  run.left = sequences->size();
  ++counters_.received;
  co_await follow(run, responder);

  switch (run.end) {
    case Run::End::complete:
      ++counters_.completed;
      if (endpoint == Endpoint::responses) remember(id, shape->whole("null"));
      break;
    case Run::End::died:
    case Run::End::truncated:
    case Run::End::no_kv: ++counters_.faulted; break;
    case Run::End::open:
    case Run::End::client_gone: ++counters_.aborted; break;
  }
}

namespace {

/// How many more tokens a fault lets through.
std::int64_t allowance(const std::optional<std::int64_t>& limit, std::int64_t delivered) {
  return limit ? std::max<std::int64_t>(*limit - delivered, 0) : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

Task<void> Replica::follow(Run& run, Responder& responder) {
  Submitted submitted(*engine_);
  KeptKv kept(*this);
  for (std::size_t i = 0; i < run.sequences.size(); ++i) {
    const Sequence& sequence = run.sequences[i];
    engine::EngineRequest wanted;
    wanted.id = engine_->next_id();
    wanted.prompt = Tokens(sequence.prompt_tokens);
    wanted.output = Tokens(sequence.output_tokens);
    wanted.ends_with = sequence.reason;
    wanted.keep_kv = run.keep_kv;
    wanted.remote_kv = static_cast<bool>(run.wanted_kv);
    wanted.rank = run.asked_rank ? *run.asked_rank : engine_->choose_rank();
    run.ranks.push_back(wanted.rank);
    if (engine_->submit(wanted, run.inbox, static_cast<std::uint32_t>(i)) != engine::SubmitOutcome::accepted) {
      // Only a queue of a million can be full; a process would be out of memory.
      run.end = Run::End::died;
      responder.abort();
      co_return;
    }
    submitted.add(wanted.id);
    // The last token has no KV.
    const std::int64_t held = sequence.prompt_tokens + sequence.output_tokens - 1;
    if (run.keep_kv) kept.keep({wanted.id, wanted.rank}, std::string(run.id), held);
  }
  if (run.kv_missing) kv_->count_recomputed(run.ranks.front());
  if (run.wanted_kv) run.renew_at = engine_->now() + kv_->renew_every();
  std::string out;
  if (run.stream) {
    run.shape.begin(out);
    if (!out.empty() && !co_await responder.write(out)) co_return;
  }
  std::vector<Output> batch;
  while (run.end == Run::End::open) {
    if (responder.client_gone()) {
      run.end = Run::End::client_gone;
      co_return;
    }
    out.clear();
    batch.clear();
    batch.swap(run.inbox.outputs);
    deliver(run, batch, out);
    if (run.stream && !out.empty() && !co_await responder.write(out)) {
      run.end = Run::End::client_gone;
      co_return;
    }
    if (run.end == Run::End::open && run.inbox.outputs.empty()) co_await await_more(run, submitted.ids().front());
  }
  run.kv_offer = kept.hand_over();
  co_await finish(run, responder);
}

/// Until something may have happened; meanwhile looks after the KV that lies elsewhere.
Task<void> Replica::await_more(Run& run, engine::RequestId id) {
  Fiber& fiber = run.inbox.fiber;
  if (!run.wanted_kv) {
    co_await fiber.wait();
  } else if (run.inbox.pulling) {
    co_await take_kv(run, id);
  } else if (engine_->now() >= run.renew_at) {
    co_await kv_->renew(fiber, run.wanted_kv.params());
    run.renew_at = engine_->now() + kv_->renew_every();
  } else {
    fiber.set_deadline(engine_->real_time_of(run.renew_at));
    co_await fiber.wait();
    fiber.clear_deadline();
  }
}

Task<void> Replica::take_kv(Run& run, engine::RequestId id) {
  Sequence& sequence = run.sequences.front();
  KvTransferParams params = run.wanted_kv.take();
  const KvHandoff::Pull pull =
      co_await kv_->pull(run.inbox.fiber, std::move(params), run.ranks.front(), Tokens(sequence.prompt_tokens));
  bool whole = pull == KvHandoff::Pull::whole;
  if (pull == KvHandoff::Pull::garbled) {
    whole = !kv_->options().error_on_reuse;
    sequence.key = garbled_text;
    if (!whole) run.end = Run::End::no_kv;
  }
  if (pull == KvHandoff::Pull::failed && !kv_->options().recompute_on_failure) run.end = Run::End::no_kv;
  if (run.end == Run::End::open) engine_->kv_arrived(id, whole);
}

/// Turns what the engine made into bytes, until the last sequence is finished or a fault ends the request.
void Replica::deliver(Run& run, std::span<const Output> batch, std::string& out) {
  const Faults& faults = faults_.now();
  const std::int64_t before_death = allowance(faults.die_after_tokens, run.delivered);
  const std::int64_t before_cut = allowance(faults.truncate_after_tokens, run.delivered);
  std::int64_t may = std::min(before_death, before_cut);
  for (const Output& output : batch) {
    if (may == 0) break;
    Sequence& sequence = run.sequences[output.sequence];
    RequestTimes& times = times_[run.ranks[output.sequence]];
    const std::int64_t count = std::min(output.count, may);
    if (run.stream) run.shape.tokens(out, output.sequence, count, output.finished && count == output.count);
    const double gap = engine_->real_seconds(output.at - run.last_at[output.sequence]);
    (sequence.delivered == 0 ? times.first_token : times.inter_token).observe(gap);
    run.last_at[output.sequence] = output.at;
    sequence.delivered += count;
    run.delivered += count;
    may -= count;
    if (output.finished && --run.left == 0) times.whole.observe(engine_->real_seconds(output.at - run.arrived));
  }
  if (run.left == 0) run.end = faults.truncate_after_tokens ? Run::End::truncated : Run::End::complete;
  if (may > 0) return;
  run.end = before_death <= before_cut ? Run::End::died : Run::End::truncated;
}

Task<void> Replica::finish(Run& run, Responder& responder) {
  if (run.end == Run::End::died) {
    responder.abort();
    co_return;
  }
  if (run.end == Run::End::no_kv) {
    const ApiError error{500, "InternalServerError", "KV of the prompt could not be loaded.", ""};
    if (!run.stream) {
      (void)co_await refuse(responder, error);
      co_return;
    }
    std::string out;
    run.shape.fail(out, error);
    if (co_await responder.write(out)) (void)co_await responder.end_stream();
    co_return;
  }
  if (run.stream) {
    std::string out;
    if (run.end == Run::End::complete) run.shape.end(out);
    bool open = out.empty() || co_await responder.write(out);
    open = open && co_await responder.end_stream();
    if (!open) run.end = Run::End::client_gone;
    co_return;
  }
  const std::string body = run.shape.whole(run.kv_offer);
  if (run.end == Run::End::complete) {
    if (!co_await responder.send(200, "application/json", body)) run.end = Run::End::client_gone;
    co_return;
  }
  // Cut: half of the JSON, in a framing that HTTP cannot find fault with.
  if (!co_await responder.begin_stream(200, "application/json")) co_return;
  if (co_await responder.write(std::string_view(body).substr(0, body.size() / 2)))
    (void)co_await responder.end_stream();
}

}  // namespace evenkeel::emulator
