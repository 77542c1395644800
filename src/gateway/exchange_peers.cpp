// Requests between routers: what a peer sent us, what goes to one, what one sends back.
#include <fmt/format.h>

#include "base/text.hpp"
#include "gateway/error_body.hpp"
#include "gateway/exchange.hpp"
#include "peers/reason.hpp"

namespace evenkeel::gateway {

using fleet::Outcome;

namespace {

/// A peer that has sent one request back so often, though it said each time that it had room, is not asked for it
/// again.
constexpr int most_returns = 32;
/// Peers that cannot be reached, until one request gives up: as many as it can be kept from.
constexpr int most_tried = 8;

/// Whether the body itself says which model is meant, or can be made to: at a peer another may be the only one.
bool can_name_model(const Request& request) {
  if (request.facts.has_model) return true;
  const bool json = request.endpoint.route == Route::model_body || request.endpoint.route == Route::other;
  return json && !request.streamed && !request.head->has(http::FieldName::content_encoding);
}

/// Adds the model as the last member, which counts where one is given twice.
void name_model(Request& request) {
  const std::size_t end = request.body.find_last_of('}');
  const std::size_t last =
      end == 0 || end == std::string::npos ? end : request.body.find_last_not_of(" \t\r\n", end - 1);
  if (last == std::string::npos) return;
  std::string member = request.body[last] == '{' ? "\"model\":" : ",\"model\":";
  append_json_string(member, request.model_label);
  request.body.insert(end, member);
  request.up_length += member.size();
  request.facts.has_model = true;
}

/// An error's body with a member more in its object.
std::string with_member(std::string body, std::string_view member) {
  body.insert(body.size() - std::string_view("}}").size(), member);
  return body;
}

}  // namespace

void Exchange::describe_to_peers() {
  RequestPeers& peers = *request_.peers;
  peers.placeable = true;
  peers.submitted = shard_.loop.now();
  submission_.from_peer = peers.from || !can_name_model(request_);
  if (!peers.from) return;
  peers.here = PeerBoard::TakenOn(peers.board, *peers.from, request_.model);
  // A router that does not take back what was sent to it in vain counts on a queue here.
  submission_.at_once = peers.from_evenkeel && !(peers.ahead && peers.here.may_wait());
}

bool Exchange::is_lost() const {
  return request_.peers->from && shard_.shared.dispatcher.lane(request_.model).workers == 0;
}

http::Task<void> Exchange::answer_lost() {
  const RequestPeers& peers = *request_.peers;
  request_.outcome = Outcome::client_fault;
  request_.fault = "proxy_loop";
  if (client_.body != nullptr) client_.keep_alive = false;
  ApiError error;
  error.status = 508;
  error.type = "proxy_loop";
  error.code = "proxy_loop";
  error.message = fmt::format("This router has no worker of its own for {}, and forwards nothing that was forwarded.",
                              request_.model_label);
  std::string hops = ",\"hops\":[";
  append_json_string(hops, peers.board.setting(*peers.from).name);
  hops += ',';
  append_json_string(hops, peers.board.self().name);
  answer_json(shard_, client_, request_, error.status,
              with_member(error_body(request_.endpoint.dialect, error), hops + "]"));
  co_return;
}

void Exchange::go_to(const Upstream& upstream) {
  if (request_.peers == nullptr) return;
  request_.peers->here.placed();
  if (upstream.peer == nullptr) return;
  if (!request_.facts.has_model && request_.peers->placeable) name_model(request_);
  request_.peers->there = PeerBoard::Dispatch(request_.peers->board, upstream.id);
}

void Exchange::end_lease(fleet::Lease& lease, const Upstream& upstream, const AttemptResult& result) {
  if (request_.peers != nullptr) {
    if (result.outcome == Outcome::completed) request_.peers->there.answered();
    request_.peers->there.end();
  }
  lease.end(result.outcome);
  if (request_.peers == nullptr) return;
  if (result.answered || result.outcome == Outcome::cancelled) request_.peers->here.end();
  if (upstream.peer == nullptr) request_.peers->board.released(request_.model);
}

void Exchange::take_back(RequestId lease, const Upstream& upstream) {
  RequestPeers& peers = *request_.peers;
  --request_.attempts;
  request_.worker.clear();
  keep_place(lease);
  if (++peers.returns >= most_returns) submission_.excluded.add(upstream.id);
}

bool Exchange::was_lost(const Upstream& upstream, const AttemptResult& result) const {
  if (upstream.peer == nullptr || result.outcome != Outcome::transport_fault || result.body_gone) return false;
  if (client_.gone() || shard_.shared.draining) return false;
  const bool unreached = result.fault == "connect_failed" || result.fault == "connect_timeout";
  if (result.timed_out && !unreached) return false;
  const int most = unreached ? most_tried : shard_.shared.settings.retry.attempts;
  return request_.attempts < most && shard_.shared.dispatcher.admissible(submission_);
}

void Exchange::keep_place(RequestId lease) {
  submission_.returned = dispatch::Returned{lease, request_.peers->submitted};
}

void Exchange::keep_here() {
  for (dispatch::Submission* leg : {&submission_, &split_->prefill}) {
    leg->from_peer = true;
    leg->at_once = false;
  }
}

bool Exchange::refuse_among_peers() {
  RequestPeers& peers = *request_.peers;
  if (!request_.receipt.route.empty()) request_.receipt.route = peers::to_string(peers::RouteReason::none);
  peers.here.end();  // the sender is told of the load without it
  if (!peers.from || !peers.from_evenkeel) return false;
  const bool no_slot = refused_->why == fleet::Refusal::no_slot;
  if (no_slot && !shard_.shared.dispatcher.lane(request_.model).routable) {
    refused_->why = fleet::Refusal::no_worker;  // sent back, it would come again at once
    return false;
  }
  return no_slot || refused_->why == fleet::Refusal::pressure;
}

void Exchange::note_failed(const Upstream& upstream, const AttemptResult& result) {
  if (request_.peers == nullptr) return;
  std::string& all = request_.peers->failed;
  all += all.empty() ? "{\"worker\":" : ",{\"worker\":";
  append_json_string(all, upstream.name);
  fmt::format_to(std::back_inserter(all), ",\"status\":{},\"fault\":", result.status);
  append_json_string(all, result.fault.empty() ? fleet::to_string(result.outcome) : result.fault);
  all += '}';
}

bool Exchange::failed_everywhere(const AttemptResult& result) const {
  if (request_.peers == nullptr || request_.receipt.route.empty() || request_.peers->failed.empty()) return false;
  return result.outcome == Outcome::transport_fault || result.sent_back || result.status == 502 ||
         result.status == 503 || result.status == 504;
}

void Exchange::answer_all_failed() {
  ApiError error;
  error.status = 503;
  error.code = "backend_unavailable";
  error.message = "Every worker and peer that was tried failed this request before it was answered.";
  answer_json(shard_, client_, request_, error.status,
              with_member(error_body(request_.endpoint.dialect, error),
                          fmt::format(",\"attempts\":[{}]", request_.peers->failed)),
              "Retry-After: 1\r\nretry-after-ms: 1000\r\n");
}

}  // namespace evenkeel::gateway
