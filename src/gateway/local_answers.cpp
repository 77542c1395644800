#include "gateway/local_answers.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gateway/error_body.hpp"
#include "gateway/exchange.hpp"
#include "gateway/peer_answers.hpp"

namespace evenkeel::gateway {

using fleet::Outcome;

namespace {

void answer_plain_error(Shard& shard, ClientSide& client, Request& request, int status, std::string_view code,
                        std::string message, std::string_view fields = {}) {
  request.outcome = Outcome::client_fault;
  request.fault = code;
  ApiError error;
  error.status = status;
  error.type = "invalid_request_error";
  error.code = code;
  error.message = std::move(message);
  answer_error(shard, client, request, error, fields);
}

/// A preflight carries no credentials and must not be asked for any.
void answer_preflight(Shard& shard, ClientSide& client, Request& request) {
  std::string fields = "Access-Control-Allow-Methods: GET, POST, DELETE, OPTIONS, HEAD\r\n";
  const auto wanted = request.head->find(request.head_bytes, "access-control-request-headers");
  fmt::format_to(std::back_inserter(fields), "Access-Control-Allow-Headers: {}\r\nAccess-Control-Max-Age: 600\r\n",
                 wanted.value_or("*"));
  answer_json(shard, client, request, 204, {}, fields);
}

void answer_ready(Shard& shard, ClientSide& client, Request& request) {
  const FleetMap& fleet = *shard.fleet;
  std::string missing;
  for (const ModelName& model : fleet.served) {
    const std::optional<Splitting>& split = fleet.splitting[model.id.value];
    const bool prefilled = !split || shard.shared.dispatcher.routable(split->prefill);
    if (prefilled && shard.shared.dispatcher.routable(model.id)) continue;
    if (!missing.empty()) missing += ',';
    append_json_string(missing, model.served);
  }
  const bool ready = !fleet.served.empty() && missing.empty() && !shard.draining;
  const std::string body =
      fmt::format("{{\"ready\":{},\"models\":{},\"without_worker\":[{}]}}", ready, fleet.served.size(), missing);
  answer_json(shard, client, request, ready ? 200 : 503, body);
}

bool method_is(const Request& request, std::initializer_list<std::string_view> methods) {
  return std::find(methods.begin(), methods.end(), request.method) != methods.end();
}

}  // namespace

std::string model_list(const FleetMap& fleet) {
  std::vector<const std::pair<const std::string, ModelName>*> names;
  for (const auto& name : fleet.names) names.push_back(&name);
  std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  std::string out = "{\"object\":\"list\",\"data\":[";
  for (const auto* name : names) {
    if (out.back() != '[') out += ',';
    out += "{\"id\":";
    append_json_string(out, name->first);
    out += ",\"object\":\"model\",\"created\":0,\"owned_by\":\"evenkeel\"";
    if (name->second.alias) {
      out += ",\"root\":";
      append_json_string(out, name->second.served);
    }
    const auto id = name->second.id.value;
    if (id < fleet.max_model_len.size() && fleet.max_model_len[id] > 0) {
      fmt::format_to(std::back_inserter(out), ",\"max_model_len\":{}", fleet.max_model_len[id]);
    }
    out += '}';
  }
  return out + "]}";
}

void answer_not_found(Shard& shard, ClientSide& client, Request& request, std::string_view why) {
  answer_plain_error(shard, client, request, 404, "not_found", std::string(why));
}

bool answer_locally(Shard& shard, ClientSide& client, Request& request) {
  request.outcome = Outcome::completed;
  const Route route = request.endpoint.route;
  const bool cors = !shard.shared.settings.cors_origins.empty();
  if (request.method == "OPTIONS" && (cors || route == Route::unknown))
    return answer_preflight(shard, client, request), true;
  const bool reads = method_is(request, {"GET", "HEAD"});
  switch (route) {
    case Route::health:
    case Route::ready:
    case Route::version:
    case Route::models:
      if (!reads) {
        answer_plain_error(shard, client, request, 405, "method_not_allowed", "This path is read with GET.",
                           "Allow: GET, HEAD, OPTIONS\r\n");
      } else if (route == Route::health) {
        answer_json(shard, client, request, 200, "{\"status\":\"ok\"}");
      } else if (route == Route::ready) {
        answer_ready(shard, client, request);
      } else if (route == Route::version) {
        answer_json(shard, client, request, 200, fmt::format("{{\"version\":\"{}\"}}", EVENKEEL_VERSION));
      } else {
        answer_json(shard, client, request, 200, model_list(*shard.fleet));
      }
      return true;
    case Route::metrics:
      if (shard.shared.settings.metrics_on_public_port && reads && shard.shared.metrics_page) {
        answer_whole(shard, client, request, 200, "text/plain; version=0.0.4", shard.shared.metrics_page());
        return true;
      }
      answer_not_found(shard, client, request, "There is nothing at this path.");
      return true;
    case Route::peer_status:
    case Route::peer_capabilities:
      if (!reads) {
        answer_plain_error(shard, client, request, 405, "method_not_allowed", "This path is read with GET.",
                           "Allow: GET, HEAD, OPTIONS\r\n");
      } else if (route == Route::peer_status) {
        answer_json(shard, client, request, 200, peer_status(shard, client, request));
      } else {
        answer_json(shard, client, request, 200, peer_capabilities(shard));
      }
      return true;
    case Route::peer_news: take_peer_news(shard, client, request); return true;
    case Route::model_body:
      if (request.method == "POST") return false;
      answer_plain_error(shard, client, request, 405, "method_not_allowed", "This path takes POST.",
                         "Allow: POST, OPTIONS\r\n");
      return true;
    case Route::unknown:
      answer_not_found(shard, client, request, fmt::format("There is nothing at {}.", request.path));
      return true;
    case Route::multipart:
    case Route::response_id:
    case Route::other: return false;
  }
  return false;
}

}  // namespace evenkeel::gateway
