// Prefill and decode on separate workers: the first leg, and what it hands to the second.
#include <array>
#include <utility>

#include "engines/bootstrap.hpp"
#include "engines/nixl.hpp"
#include "gateway/breakers.hpp"
#include "gateway/exchange.hpp"

namespace evenkeel::gateway {

using fleet::Outcome;

namespace {

/// Of a lease, that hand-overs are used in: the rest is for the way to the decode worker and for its turn to come
/// there, from where it renews the lease itself.
constexpr double usable_share = 0.8;

/// Whether it asks for tokens in a way that has two parts. Of a body that is streamed up the text is not known.
bool generates(const Request& request) {
  const std::string_view label = request.endpoint.label;
  return (label == "/v1/chat/completions" || label == "/v1/completions") && request.method == "POST" &&
         (request.streamed || request.facts.text.begin < request.facts.text.end);
}

/// One prompt, one answer, and a body at hand from which that of each leg can be made.
bool can_be_split(const Request& request) {
  return !request.streamed && request.facts.sequences == 1 && request.facts.list_prompts == 1;
}

}  // namespace

void Exchange::split() {
  const std::optional<Splitting>& how = shard_.fleet->splitting.at(request_.model.value);
  if (!how) return;
  Result<std::string> body = failure("");
  if (generates(request_) && how->together) {
    inseparable_ = !can_meet();
    // What is no JSON goes to an engine whole, which says what is wrong with it.
    if (!inseparable_) body = engines::bootstrap_body(request_.body, {}, std::array{std::int64_t{0}});
  } else if (generates(request_) && can_be_split(request_)) {
    body = engines::nixl_prefill_body(request_.body);
  }
  request_.kept_whole = !body;
  if (!body) return;
  request_.legs = std::make_unique<Request::LegBodies>();
  if (!how->together) request_.legs->prefill = std::move(*body);
  request_.legs->whole = std::move(request_.body);
  request_.chunked_up = false;
  split_ = std::make_unique<Split>();
  split_->prefill = submission_;
  split_->prefill.model = how->prefill;
  split_->together = how->together;
  split_->prefill.prompt_key = 0;
  submission_.prefix = nullptr;  // who takes KV over computes nothing that could be spared
  split_->prefill.output_bound = Tokens(1);
}

http::Task<void> Exchange::run_split() {
  AttemptResult result;
  Grant granted;
  while (true) {
    if (!split_->handed) {
      const Way way = co_await prefill(result);
      if (way == Way::over) co_return;
      if (way == Way::again) {
        granted.reset();
        continue;
      }
    }
    submission_.attempt = request_.attempts;
    if (!granted) co_await obtain(submission_, granted);
    if (!granted) co_return answer_unplaced(result);
    const std::shared_ptr<const Upstream> upstream = shard_.fleet->upstream(granted->lease.worker());
    if (upstream == nullptr) {
      submission_.excluded.add(granted->lease.worker());
      granted.reset();
      continue;
    }
    if (too_late()) {  // it keeps the place that it has got while the prefill is made again
      shard_.counters.transfers_expired.add();
      split_->handed.reset();
      continue;
    }
    take_receipt(*granted);
    request_.worker = upstream->name;
    fleet::Lease lease = std::move(granted->lease);
    granted.reset();
    take_over();
    result = co_await try_worker(*upstream, lease);
    lease.end(result.outcome);
    if (split_->took_over && result.reused_gave_nothing && !client_.gone()) {
      shard_.counters.transfers_repeated.add();
      split_->fresh_connection = true;
      continue;
    }
    shard_.shared.breakers.answered(upstream->id, result.outcome);
    if (result.answered || result.outcome == Outcome::cancelled || result.outcome == Outcome::completed) break;
    exclude(submission_, *upstream, result.outcome);
    suspect_prefill();
    const Way way = co_await retry(result, submission_);
    if (way == Way::over) co_return;
    if (split_->took_over) shard_.counters.transfers_repeated.add();
  }
  book(result);
}

http::Task<Exchange::Way> Exchange::prefill(AttemptResult& result) {
  dispatch::Submission& what = split_->prefill;
  split_->took_over = false;
  what.attempt = request_.attempts + 1;
  Grant granted;
  co_await obtain(what, granted);
  if (!granted) {
    answer_unplaced(result);
    co_return Way::over;
  }
  const std::shared_ptr<const Upstream> upstream = shard_.fleet->upstream(granted->lease.worker());
  if (upstream == nullptr) {
    what.excluded.add(granted->lease.worker());
    co_return Way::again;
  }
  ++request_.attempts;
  ++request_.prefills;
  take_receipt(*granted);
  request_.prefill_worker = upstream->name;
  request_.worker.clear();
  request_.body = request_.legs->prefill;
  request_.up_length = request_.body.size();
  split_->prefilled_at = upstream->id;
  fleet::Lease lease = std::move(granted->lease);
  const Time begun = shard_.loop.now();
  result = co_await try_worker(*upstream, lease, Leg::prefill);
  lease.end(result.outcome);
  shard_.shared.breakers.answered(upstream->id, result.outcome);
  const Duration took = shard_.loop.now() - begun;
  request_.prefilling += took;
  shard_.counters.prefill.observe(took);
  request_.output_tokens = Tokens();  // the decode worker makes this token again
  request_.output_from = fleet::TokenSource::none;

  if (result.outcome == Outcome::completed && !result.answered) {
    HandOver& handed = split_->handed.emplace();
    handed.params = engines::nixl_transfer_params(std::exchange(result.held_body, {})).value_or(std::string());
    handed.until = shard_.loop.now() + from_seconds(usable_share * to_seconds(shard_.shared.settings.transfer_lease));
    if (!handed.params.empty()) shard_.counters.transfers.add();
    if (request_.prompt_from == fleet::TokenSource::usage) submission_.prompt_tokens = request_.prompt_tokens;
    co_return Way::on;
  }
  if (result.answered || result.outcome == Outcome::cancelled) {
    book(result);
    co_return Way::over;
  }
  exclude(what, *upstream, result.outcome);
  const Way way = co_await retry(result, what);
  co_return way;
}

bool Exchange::too_late() const {
  return !split_->handed->params.empty() && shard_.loop.now() >= split_->handed->until;
}

void Exchange::take_over() {
  const std::string& params = split_->handed->params;
  split_->took_over = !params.empty();
  request_.body = split_->took_over ? engines::nixl_decode_body(request_.legs->whole, params) : request_.legs->whole;
  request_.up_length = request_.body.size();
  split_->handed.reset();
  if (split_->took_over) shard_.counters.transfers_used.add();
}

/// A decode worker fails, too, if the prefill worker did not give what it said. Who it was cannot be told: if there is
/// another, the next prefill is made there.
void Exchange::suspect_prefill() {
  if (!took_over()) return;
  dispatch::Submission without = split_->prefill;
  without.excluded.add(split_->prefilled_at);
  if (shard_.shared.dispatcher.admissible(without)) split_->prefill = without;
}

}  // namespace evenkeel::gateway
