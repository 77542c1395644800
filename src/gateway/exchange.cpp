#include "gateway/exchange.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gateway/breakers.hpp"
#include "gateway/error_body.hpp"
#include "http/server.hpp"

namespace evenkeel::gateway {

using fleet::Outcome;

/// Carries the dispatcher's verdict from whichever thread made it to the shard that waits. If the request is gone by
/// then, the lease in it ends as cancelled.
class PostedVerdict final : public dispatch::Waiter, public std::enable_shared_from_this<PostedVerdict> {
 public:
  explicit PostedVerdict(http::Fiber& fiber) : loop_(fiber.loop()), fiber_(&fiber) {}

  void granted(dispatch::Granted granted) override {
    auto kept = std::make_shared<dispatch::Granted>(std::move(granted));
    loop_.post([self = shared_from_this(), kept] {
      if (self->fiber_ == nullptr) return;
      self->lease.emplace(std::move(*kept));
      self->fiber_->wake();
    });
  }
  void refused(dispatch::Refused refused) override {
    loop_.post([self = shared_from_this(), refused] {
      if (self->fiber_ == nullptr) return;
      self->refusal = refused;
      self->fiber_->wake();
    });
  }
  /// The request waits no more; loop thread only.
  void leave() { fiber_ = nullptr; }

  std::optional<dispatch::Granted> lease;
  std::optional<dispatch::Refused> refusal;

 private:
  http::EventLoop& loop_;
  http::Fiber* fiber_;
};

namespace {

std::string retry_fields(Duration after) {
  const auto millis = std::max<std::int64_t>(1, after / std::chrono::milliseconds(1));
  return fmt::format("Retry-After: {}\r\nretry-after-ms: {}\r\n",
                     std::clamp<std::int64_t>((millis + 999) / 1000, 1, 59), millis);
}

std::string_view words(fleet::Refusal refusal) {
  switch (refusal) {
    case fleet::Refusal::pool_full: return "Too many requests are waiting for this model.";
    case fleet::Refusal::pool_bytes: return "The requests that are waiting hold as many bytes as they may.";
    case fleet::Refusal::wait_too_long: return "At the present rate this request would wait longer than it may.";
    case fleet::Refusal::deadline: return "No worker had room for this request before its deadline.";
    case fleet::Refusal::no_worker: return "No worker of this model can be reached at the moment.";
    case fleet::Refusal::all_tried: return "Every worker of this model has failed this request.";
    case fleet::Refusal::shutting_down: return "The router is shutting down.";
    case fleet::Refusal::redline:
      return "The workers of this model are short of memory, and this request would take much.";
    case fleet::Refusal::no_slot: return "No slot is open for this request, and it was not to wait.";
    case fleet::Refusal::pressure:
      return "This router's own workers take nothing on at the moment, and no peer can be reached.";
    case fleet::Refusal::no_prefill_worker: return "No prefill worker of this model can be reached at the moment.";
    case fleet::Refusal::no_decode_worker: return "No decode worker of this model can be reached at the moment.";
  }
  return "";
}

}  // namespace

void answer_json(Shard& shard, ClientSide& client, Request& request, int status, std::string_view body,
                 std::string_view extra_fields) {
  answer_whole(shard, client, request, status, "application/json", body, extra_fields);
}

void answer_whole(Shard& shard, ClientSide& client, Request& request, int status, std::string_view content_type,
                  std::string_view body, std::string_view extra_fields) {
  std::string head = fmt::format("HTTP/1.{} {} {}\r\n", request.http10 ? 0 : 1, status, http::reason_phrase(status));
  if (status != 204) fmt::format_to(std::back_inserter(head), "Content-Type: {}\r\n", content_type);
  append_own_fields(head, request, shard.shared.settings);
  head += extra_fields;
  if (status != 204) fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", body.size());
  if (!client.keep_alive) head += "Connection: close\r\n";
  if (client.keep_alive && request.http10) head += "Connection: keep-alive\r\n";
  head += "\r\n";
  request.status = status;
  if (!request.head_only) request.bytes_out += body.size();
  const std::string_view parts[] = {head, request.head_only ? std::string_view() : body};
  (void)client.outbox.put(parts);
}

void answer_error(Shard& shard, ClientSide& client, Request& request, const ApiError& error,
                  std::string_view extra_fields) {
  answer_json(shard, client, request, error.status, error_body(request.endpoint.dialect, error), extra_fields);
}

http::Task<void> Exchange::wait_for(std::shared_ptr<PostedVerdict> verdict, dispatch::Decision& decision) {
  const Time begun = shard_.loop.now();
  while (!verdict->lease && !verdict->refusal && !client_.gone()) co_await client_.fiber.wait();
  verdict->leave();
  request_.queued += shard_.loop.now() - begun;
  if (verdict->lease) {
    decision = std::move(*verdict->lease);
  } else if (verdict->refusal) {
    refused_ = verdict->refusal;
  } else {
    (void)shard_.shared.dispatcher.cancel(std::get<dispatch::Queued>(decision).id);
  }
}

dispatch::Decision Exchange::ask(const dispatch::Submission& what, std::shared_ptr<PostedVerdict>& verdict) {
  return shard_.shared.dispatcher.submit(what, [&] {
    verdict = std::make_shared<PostedVerdict>(client_.fiber);
    return verdict;
  });
}

http::Task<void> Exchange::obtain(const dispatch::Submission& what, Grant& granted) {
  std::shared_ptr<PostedVerdict> verdict;
  dispatch::Decision decision = ask(what, verdict);
  if (verdict != nullptr) co_await wait_for(verdict, decision);
  if (auto* given = std::get_if<dispatch::Granted>(&decision)) granted = std::move(*given);
  if (const auto* refused = std::get_if<dispatch::Refused>(&decision)) refused_ = *refused;
  if (refused_ && refused_->why == fleet::Refusal::no_worker) {
    refused_->why = &what == &split_->prefill ? fleet::Refusal::no_prefill_worker : fleet::Refusal::no_decode_worker;
  }
}

http::Task<AttemptResult> Exchange::try_worker(const Upstream& upstream, fleet::Lease& lease, Leg leg) {
  bool fresh = split_ != nullptr && split_->fresh_connection;
  while (true) {
    Attempt attempt(shard_, client_, request_, upstream, lease, fresh, leg);
    while (!attempt.advance()) co_await client_.fiber.wait();
    AttemptResult result = attempt.take_result();
    // A kept connection that died idle: neither worker nor request is to blame. Once more at once, on a new one.
    const bool again = result.reused_gave_nothing && !result.body_gone && !client_.gone();
    if (!again) co_return result;
    shard_.counters.reused_socket_retries.add();
    shard_.shared.retries.charge(request_.model, shard_.loop.now());
    if (took_over() && leg == Leg::answer) co_return result;  // the worker may have read it all the same
    fresh = true;
  }
}

void Exchange::describe() {
  submission_.model = request_.model;
  submission_.prompt_tokens = request_.prompt_estimate;
  submission_.bytes = Bytes(static_cast<std::int64_t>(request_.body.size()));
  submission_.priority = request_.facts.priority;
  submission_.client = request_.client;
  submission_.affinity_key = request_.affinity_key;
  submission_.prompt_key = request_.prompt_key;
  submission_.prefix = request_.prefix;
  submission_.told_hits = request_.told_hits;
  submission_.never_shed = request_.never_shed;
  submission_.output_bound = Tokens(request_.facts.output_bound);
  submission_.sequences =
      request_.facts.sequences * static_cast<std::int64_t>(std::min<std::uint64_t>(request_.facts.list_prompts, 1024));
  if (shard_.shared.settings.redline.mode == "off" || request_.head == nullptr) return;
  const auto told = request_.head->find(request_.head_bytes, "X-Evenkeel-Heavy");
  if (told && equals_ignoring_case(*told, "true")) submission_.heavy = true;
  if (told && equals_ignoring_case(*told, "false")) submission_.heavy = false;
}

void Exchange::take_receipt(const dispatch::Granted& granted) {
  request_.receipt = granted.receipt;
  if (granted.receipt.expected_hit) request_.expected_hit = granted.receipt.expected_hit;
}

http::Task<void> Exchange::run() {
  describe();
  if (request_.peers != nullptr) {
    if (is_lost()) return answer_lost();
    describe_to_peers();
  }
  split();
  shard_.shared.retries.first_attempt(request_.model, shard_.loop.now());
  if (split_ == nullptr) return run_whole();
  if (request_.peers != nullptr) keep_here();
  return split_->together ? run_together() : run_split();
}

http::Task<void> Exchange::run_whole() {
  if (inseparable_) co_return answer_inseparable();
  AttemptResult result;
  while (true) {
    submission_.attempt = request_.attempts + 1;
    std::shared_ptr<PostedVerdict> verdict;
    dispatch::Decision decision = ask(submission_, verdict);
    if (verdict != nullptr) co_await wait_for(verdict, decision);
    if (const auto* refused = std::get_if<dispatch::Refused>(&decision)) refused_ = *refused;
    auto* const granted = std::get_if<dispatch::Granted>(&decision);
    if (granted == nullptr) co_return answer_unplaced(result);
    const std::shared_ptr<const Upstream> upstream = shard_.fleet->upstream(granted->lease.worker());
    if (upstream == nullptr) {  // removed, or joined, a moment ago: this shard's map is of another moment
      submission_.excluded.add(granted->lease.worker());
      continue;
    }
    ++request_.attempts;
    take_receipt(*granted);
    request_.worker = upstream->name;
    fleet::Lease lease = std::move(granted->lease);
    go_to(*upstream);
    result = co_await try_worker(*upstream, lease);
    end_lease(lease, *upstream, result);
    if (result.sent_back && !result.body_gone && result.outcome != Outcome::cancelled) {
      take_back(lease.request(), *upstream);
      continue;
    }
    shard_.shared.breakers.answered(upstream->id, result.outcome);
    if (result.answered || result.outcome == Outcome::cancelled || result.outcome == Outcome::completed) break;
    note_failed(*upstream, result);
    exclude(submission_, *upstream, result.outcome);
    if (was_lost(*upstream, result)) {
      shard_.counters.retries.add();
      keep_place(lease.request());
      continue;
    }
    const Way way = co_await retry(result, submission_);
    if (way == Way::over) co_return;
  }
  book(result);
}

http::Task<Exchange::Way> Exchange::retry(AttemptResult& result, const dispatch::Submission& what) {
  if (!may_retry(result, what)) {
    book(result);
    co_return Way::over;
  }
  shard_.counters.retries.add();
  co_await back_off();
  if (!client_.gone()) co_return Way::again;
  result.outcome = Outcome::cancelled;
  result.fault = "client_gone";
  book(result);
  co_return Way::over;
}

http::Task<void> Exchange::run_at(std::shared_ptr<const FleetMap>, const Upstream& upstream) {
  // Counted like any other, though nobody chose: every byte stream that passes is in the books.
  submission_.model = request_.model;
  submission_.prompt_tokens = request_.prompt_estimate;
  fleet::Lease lease = shard_.shared.dispatcher.lease_at(upstream.id, submission_);
  request_.attempts = 1;
  request_.worker = upstream.name;
  request_.receipt.policy = "none";
  request_.receipt.reason = "owner";
  request_.receipt.candidates = 1;
  request_.receipt.signal_age = Duration(-1);
  go_to(upstream);
  AttemptResult result = co_await try_worker(upstream, lease);
  end_lease(lease, upstream, result);
  shard_.shared.breakers.answered(upstream.id, result.outcome);
  book(result);
}

void Exchange::exclude(dispatch::Submission& what, const Upstream& upstream, Outcome outcome) const {
  what.excluded.add(upstream.id);
  if (outcome != Outcome::transport_fault || upstream.rank_field.empty()) return;
  for (const auto& other : shard_.fleet->upstreams) {  // its other ranks stand behind the same transport
    if (other != nullptr && other->engine == upstream.engine) what.excluded.add(other->id);
  }
}

bool Exchange::retryable(const AttemptResult& result) const {
  if (result.answered || result.body_gone || result.outcome == Outcome::client_fault) return false;
  if (result.fault == "total_timeout") return false;
  if (result.outcome == Outcome::transport_fault || result.fault == rank_refused) return true;
  if (took_over() && result.status == 500) return true;  // the KV may not have come over
  return result.status == 502 || result.status == 503 || result.status == 504 || result.status == 429;
}

bool Exchange::may_retry(const AttemptResult& result, const dispatch::Submission& what) {
  const auto& settings = shard_.shared.settings.retry;
  if (!retryable(result) || request_.attempts >= settings.attempts || shard_.shared.draining) return false;
  if (!shard_.shared.dispatcher.admissible(what)) return false;
  // A fleet at its redline is not asked twice.
  if (result.outcome == Outcome::back_pressure && shard_.shared.dispatcher.frozen(request_.model)) {
    shard_.counters.retries_denied.add();
    return false;
  }
  if (shard_.shared.retries.take(request_.model, shard_.loop.now())) return true;
  shard_.counters.retries_denied.add();
  return false;
}

http::Task<void> Exchange::back_off() {
  const auto& settings = shard_.shared.settings.retry;
  const double mean = to_seconds(settings.backoff) * std::exp2(request_.attempts - 1);
  const double pause = shard_.random.unit() * 2 * std::min(mean, to_seconds(settings.backoff_cap));
  const Time until = shard_.loop.now() + from_seconds(pause);
  client_.fiber.set_deadline(until);
  while (shard_.loop.now() < until && !client_.gone()) co_await client_.fiber.wait();
  client_.fiber.clear_deadline();
}

void Exchange::book(AttemptResult& result) {
  request_.outcome = result.outcome;
  request_.fault = result.fault;
  if (result.outcome == Outcome::cancelled && !result.answered && result.fault != "shutting_down") return;
  if (!result.answered) return answer_failure(result);
  if (!result.whole) client_.keep_alive = false;
}

void Exchange::answer_failure(AttemptResult& result) {
  request_.outcome = result.outcome;
  request_.fault = result.fault;
  if (client_.body != nullptr) client_.keep_alive = false;  // the rest of its body is still to come
  if (failed_everywhere(result)) return answer_all_failed();
  if (!result.held_head.empty()) {  // the engine's own answer, as it came
    request_.status = result.status;
    request_.bytes_out += result.held_body.size();
    const std::string_view parts[] = {result.held_head, result.held_body};
    (void)client_.outbox.put(parts);
    return;
  }
  if (!result.held_body.empty()) {  // an error event that came first: its data are the body
    answer_json(shard_, client_, request_, result.status, result.held_body);
    return;
  }
  const std::string culprit = request_.worker.empty() ? fmt::format("Prefill worker {}", request_.prefill_worker)
                                                      : fmt::format("Worker {}", request_.worker);
  ApiError error;
  error.code = result.fault;
  if (result.fault == "shutting_down") {
    error.status = 503;
    error.message = words(fleet::Refusal::shutting_down);
  } else if (result.fault == "body_too_large") {
    error.status = 413;
    error.type = "invalid_request_error";
    error.message =
        fmt::format("The request body is over the limit of {} bytes.", shard_.shared.settings.limits.body.value());
  } else if (result.outcome == Outcome::client_fault) {
    error.status = result.timed_out ? 408 : 400;
    error.type = "invalid_request_error";
    error.message = result.timed_out ? "The request body did not arrive in time." : "The request body is malformed.";
  } else if (result.timed_out) {
    error.status = 504;
    error.message = fmt::format("{} did not answer in time.", culprit);
  } else {
    error.status = 502;
    error.message = fmt::format("{} failed to answer this request.", culprit);
  }
  answer_error(shard_, client_, request_, error);
}

void Exchange::answer_unplaced(AttemptResult& result) {
  if (!refused_) {
    request_.outcome = Outcome::cancelled;
    request_.fault = "client_gone";
  } else if (request_.attempts > 0 && result.outcome != Outcome::completed) {
    answer_failure(result);
  } else {
    answer_refusal();
  }
}

void Exchange::answer_refusal() {
  const bool comes_back = request_.peers != nullptr && refuse_among_peers();
  const fleet::Refusal why = refused_->why;
  request_.refusal = why;
  const bool full = fleet::http_status(why) == 429 || why == fleet::Refusal::no_slot;
  request_.outcome = full ? Outcome::back_pressure : Outcome::transport_fault;
  request_.fault = fleet::to_string(why);
  shard_.counters.refusals[static_cast<std::size_t>(why)].add();
  if (client_.body != nullptr) client_.keep_alive = false;
  ApiError error;
  error.status = fleet::http_status(why);
  error.type = error.status == 429 ? "rate_limit_error" : "server_error";
  error.code = fleet::to_string(why);
  error.message = words(why);
  std::string fields = fmt::format("{}X-Evenkeel-Refusal: {}\r\n", retry_fields(refused_->retry_after), error.code);
  if (comes_back) fields += fmt::format("{}: 1\r\n", peer_field::sent_back);
  answer_error(shard_, client_, request_, error, fields);
}

}  // namespace evenkeel::gateway
