// The life of one generation request: plan, submit, deliver step by step, end truthfully or as a fault says.
#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "emulator/kv_publisher.hpp"
#include "emulator/rank_header.hpp"
#include "emulator/run.hpp"
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

tl::expected<std::optional<std::int64_t>, ApiError> told_length(const ServerRequest& request) {
  const auto header = request.field("X-Emulate-Output-Tokens");
  if (!header) return std::nullopt;
  return parse_told_length(*header);
}

}  // namespace

tl::expected<std::optional<std::size_t>, ApiError> Replica::rank_of(const ServerRequest& request) const {
  if (faults_.now().ignore_rank_header) return own_rank_;
  // One process a rank: the number is local to it.
  auto asked = asked_rank(request.field("X-data-parallel-rank"), own_rank_ ? 1 : engine_->ranks());
  if (asked && own_rank_) return own_rank_;
  return asked;
}

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
  const auto& engine = options_.engine;
  const auto generation =
      parse_generation(endpoint, request.body, options_.model, engine.prefix_cache ? engine.block_size : 0);
  const auto told = told_length(request);
  if (!generation || !told) {
    (void)co_await refuse(responder, generation ? told.error() : generation.error(), endpoint);
    co_return;
  }
  KvErrand kv(kv_);  // before anything may refuse: the other side wants to know
  if (kv_) kv.look_at(*generation, *kv_);
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
  if (!early) early = enter_room(kv, *generation, *sequences, fiber);
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

  Run run{*generation, *sequences, *shape, Inbox{fiber}, kv, id};
  if (sequences->size() > 1) kv.give_up();  // several answers cannot share what is handed over once
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

/// What the prefix cache can find the prompt by, and then the answer: in the next turn it stands in the prompt.
std::shared_ptr<const engine::PromptPrefix> prefix_of(TokenChain chain, const Sequence& sequence) {
  if (!chain.on()) return nullptr;
  for (std::int64_t k = 0; k < sequence.output_tokens; ++k) {
    chain.add(static_cast<std::uint64_t>(output_id(sequence.key, k)));
  }
  auto prefix = std::make_shared<TokenPrefix>();
  prefix->chain = chain.links();
  prefix->block_tokens = chain.block_tokens();
  prefix->over_output = true;
  prefix->tokens = chain.take_tokens();
  return prefix;
}

/// How many more tokens a fault lets through.
std::int64_t allowance(const std::optional<std::int64_t>& limit, std::int64_t delivered) {
  return limit ? std::max<std::int64_t>(*limit - delivered, 0) : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

bool Replica::submit(Run& run, Submitted& submitted, KeptKv& kept) {
  for (std::size_t i = 0; i < run.sequences.size(); ++i) {
    const Sequence& sequence = run.sequences[i];
    engine::EngineRequest wanted;
    wanted.id = engine_->next_id();
    wanted.prompt = Tokens(sequence.prompt_tokens);
    wanted.output = Tokens(sequence.output_tokens);
    wanted.ends_with = sequence.reason;
    wanted.keep_kv = run.kv.keeps();
    wanted.remote_kv = run.kv.pulls();
    wanted.prefix = prefix_of(run.request.prompts[sequence.prompt].chain, sequence);
    wanted.rank = run.asked_rank ? *run.asked_rank : engine_->choose_rank();
    run.ranks.push_back(wanted.rank);
    if (engine_->submit(wanted, run.inbox, static_cast<std::uint32_t>(i)) != engine::SubmitOutcome::accepted) {
      return false;
    }
    submitted.add(wanted.id);
    // The last token has no KV.
    if (wanted.keep_kv) kept.keep({wanted.id, wanted.rank}, sequence.prompt_tokens + sequence.output_tokens - 1);
  }
  return true;
}

Task<void> Replica::follow(Run& run, Responder& responder) {
  Submitted submitted(*engine_);
  KeptKv kept(*this, run);
  if (run.kv.prefills_in_room()) co_await await_room(run, responder);
  if (run.end == Run::End::client_gone) co_return;
  if (run.end == Run::End::open && !submit(run, submitted, kept)) {
    // Only a queue of a million can be full; a process would be out of memory.
    run.end = Run::End::died;
  }
  if (run.end == Run::End::open) begin_errand(run);
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
    if (run.kv.prefills_in_room() && bootstrap_->abandoned(*run.kv.leg)) run.end = Run::End::no_kv;
    if (run.stream && !out.empty() && !co_await responder.write(out)) {
      run.end = Run::End::client_gone;
      co_return;
    }
    if (run.end == Run::End::open && run.inbox.outputs.empty())
      co_await await_more(run, responder, submitted.ids().front());
  }
  if (run.end == Run::End::client_gone) co_return;
  if (run.end == Run::End::complete) co_await kept.hand_over(run.kv_offer);
  co_await finish(run, responder);
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
    sequence.cached = output.cached;
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
