#include "emulator/replica.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "emulator/embedding.hpp"
#include "emulator/text.hpp"

namespace evenkeel::emulator {

using http::Fiber;
using http::Responder;
using http::ServerRequest;
using http::Task;

namespace {

constexpr std::string_view json_type = "application/json";

/// What only reads the body's fields and does not generate still counts as inference for the faults.
constexpr std::array<std::string_view, 8> post_paths = {
    "/v1/chat/completions", "/v1/completions",           "/v1/responses", "/v1/messages",
    "/v1/embeddings",       "/v1/messages/count_tokens", "/tokenize",     "/detokenize"};
constexpr std::array<std::string_view, 5> get_paths = {"/health", "/ping", "/version", "/load", "/v1/models"};

template <std::size_t n>
bool holds(const std::array<std::string_view, n>& paths, std::string_view path) {
  return std::ranges::find(paths, path) != paths.end();
}

bool is_json(const ServerRequest& request) {
  const auto type = request.field("Content-Type");
  return type && equals_ignoring_case(trim(type->substr(0, type->find(';'))), json_type);
}

bool is_stored_path(std::string_view path) { return path.starts_with("/v1/responses/"); }
bool is_metrics_path(std::string_view path) { return path == "/metrics" || path.starts_with("/metrics/"); }

std::optional<Endpoint> generates(std::string_view path) {
  if (path == "/v1/chat/completions") return Endpoint::chat;
  if (path == "/v1/completions") return Endpoint::completions;
  if (path == "/v1/responses") return Endpoint::responses;
  if (path == "/v1/messages") return Endpoint::messages;
  return std::nullopt;
}

struct InFlight {
  std::int64_t& count;
  explicit InFlight(std::int64_t& c) : count(c) { ++count; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() { --count; }
};

}  // namespace

Result<std::shared_ptr<Replica>> Replica::open(http::EventLoop& loop, const EmulatorOptions& options,
                                               std::uint16_t port, std::shared_ptr<LiveEngine> engine,
                                               std::optional<std::size_t> own_rank) {
  const auto at = http::resolve(options.host, port);
  if (!at) return tl::unexpected<Error>(at.error());
  std::shared_ptr<Replica> replica(new Replica(loop, options, std::move(engine), own_rank));
  if (auto listening = replica->listen(*at); !listening) return tl::unexpected<Error>(listening.error());
  const auto actual = http::resolve(options.host, replica->servers_.back()->port());
  if (!actual) return tl::unexpected<Error>(actual.error());
  replica->address_ = *actual;
  replica->apply(options.faults);
  if (options.kv) replica->take_role(*options.kv);
  return replica;
}

Replica::Replica(http::EventLoop& loop, const EmulatorOptions& options, std::shared_ptr<LiveEngine> engine,
                 std::optional<std::size_t> own_rank)
    : loop_(loop),
      options_(options),
      engine_(std::move(engine)),
      own_rank_(own_rank),
      times_(engine_->ranks()),
      ids_(mix64(options.seed) ^ static_cast<std::uint64_t>(loop.now().time_since_epoch().count())),
      created_(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                   .count()) {}

void Replica::take_role(KvOptions kv) {
  if (kv.host.empty()) {
    kv.host = address_.host();
    if (kv.host == "0.0.0.0" || kv.host == "::") kv.host = address_.family() == AF_INET6 ? "::1" : "127.0.0.1";
  }
  bootstrap_ = std::make_shared<Bootstrap>(loop_, engine_, kv, Peer{kv.host, port()});
  kv_ = KvHandoff::start(loop_, engine_, kv, fmt::format("{:016x}{:016x}", ids_.next(), ids_.next()));
}

void Replica::close() {
  servers_.clear();
  if (kv_) kv_->close();
  if (bootstrap_) bootstrap_->close();
}

Result<void> Replica::listen(const http::Address& at) {
  http::ServerLimits limits;
  limits.idle = std::chrono::seconds(5);  // as uvicorn, under which vLLM runs
  const auto handler = [self = shared_from_this()](Fiber& fiber, const ServerRequest& request, Responder& responder) {
    return self->handle(fiber, request, responder);
  };
  auto opened = http::Server::open(loop_, at, handler, limits);
  if (!opened) return tl::unexpected<Error>(opened.error());
  servers_.push_back(std::move(*opened));
  return {};
}

Task<void> Replica::pause_listening(Fiber& fiber, std::shared_ptr<Replica> self, Duration time) {
  self->servers_.back()->stop_accepting();
  co_await fiber.sleep_until(fiber.loop().now() + time);
  // Another process may have taken the port: try until it is ours again.
  while (!self->listen(self->address_)) {
    co_await fiber.sleep_until(fiber.loop().now() + std::chrono::milliseconds(50));
  }
  self->listening_paused_ = false;
  // A closed server is dropped only here, when its accepting fiber has long ended.
  std::erase_if(self->servers_,
                [&](const auto& server) { return server != self->servers_.back() && server->connections() == 0; });
}

void Replica::apply(const Faults& faults) {
  const Faults before = faults_.now();
  Faults kept = faults;
  if (kept.unlisten_ms > 0 && !listening_paused_) {
    listening_paused_ = true;
    loop_.spawn(pause_listening, shared_from_this(), Duration(std::chrono::milliseconds(kept.unlisten_ms)));
  }
  kept.unlisten_ms = 0;
  faults_.set(kept);
  // These are the engine's, which several endpoints may share: the last word counts.
  if (kept.stall != before.stall) engine_->set_stalled(kept.stall);
  if (kept.gauge_lag_ms != before.gauge_lag_ms) engine_->set_gauge_lag(std::chrono::milliseconds(kept.gauge_lag_ms));
  KvPublisher* const publisher = engine_->publisher();
  if (publisher == nullptr) return;
  if (kept.kv_drop_batches != before.kv_drop_batches) publisher->drop(kept.kv_drop_batches);
  if (kept.kv_silent != before.kv_silent || kept.kv_no_replay != before.kv_no_replay) {
    publisher->set_faults(kept.kv_silent, kept.kv_no_replay);
  }
}

Task<bool> Replica::refuse(Responder& responder, const ApiError& error, Endpoint endpoint) {
  const std::string body = endpoint == Endpoint::messages ? anthropic_error(error) : openai_error(error);
  co_return co_await responder.send(error.status, json_type, body);
}

Task<void> Replica::handle(Fiber& fiber, const ServerRequest& request, Responder& responder) {
  if (request.path.starts_with("/emulator/")) {
    co_await control(request, responder);
    co_return;
  }
  if (faults_.now().refuse) {
    responder.abort();
    co_return;
  }
  const std::string_view path = request.path;
  const bool post = request.method == "POST";
  const bool get = request.method == "GET";
  if (post && path == "/reset_prefix_cache") {
    engine_->clear_caches(false);
    (void)co_await responder.send(200, "", "");
  } else if (kv_ && post && path.starts_with("/kv/")) {
    if (path.starts_with("/kv/room/")) {
      co_await bootstrap_->serve(request, responder);
    } else {
      co_await kv_->serve(request, responder);
    }
  } else if (post && holds(post_paths, path)) {
    const InFlight counted(counters_.in_flight);
    co_await inference(fiber, request, responder);
  } else if (get && (holds(get_paths, path) || is_metrics_path(path))) {
    co_await show(fiber, request, responder);
  } else if (is_stored_path(path) && (get || (post && path.ends_with("/cancel")))) {
    co_await stored_response(request, responder);
  } else if (holds(post_paths, path) || holds(get_paths, path) || is_metrics_path(path)) {
    (void)co_await responder.send(405, json_type, R"({"detail":"Method Not Allowed"})");
  } else if (path.size() > 1 && path.ends_with('/') &&
             (holds(post_paths, path.substr(0, path.size() - 1)) ||
              holds(get_paths, path.substr(0, path.size() - 1)))) {
    http::Fields fields;
    fields.emplace_back("Location", fmt::format("http://{}{}", request.field("Host").value_or(address_.text()),
                                                path.substr(0, path.size() - 1)));
    (void)co_await responder.send(307, "", "", std::move(fields));
  } else {
    (void)co_await responder.send(404, json_type, R"({"detail":"Not Found"})");
  }
}

Task<void> Replica::inference(Fiber& fiber, const ServerRequest& request, Responder& responder) {
  const auto endpoint = generates(request.path);
  const FaultBox::Draw draw = faults_.draw();
  if (draw.verdict == FaultBox::Verdict::drop) {
    ++counters_.faulted;
    responder.abort();
    co_return;
  }
  std::optional<ApiError> error;
  if (draw.verdict == FaultBox::Verdict::fail) {
    ++counters_.faulted;
    error = injected_error(draw.status);
  } else if (!is_json(request)) {
    error = schema_error("Unsupported Media Type: Only 'application/json' is allowed");
  }
  if (error) {
    (void)co_await refuse(responder, *error, endpoint.value_or(Endpoint::chat));
  } else if (endpoint) {
    co_await generate(fiber, request, responder, *endpoint);
  } else if (request.path == "/v1/embeddings") {
    co_await embeddings(request, responder);
  } else if (request.path == "/v1/messages/count_tokens") {
    co_await count_tokens(request, responder);
  } else {
    co_await tokens(request, responder);
  }
}

Task<void> Replica::show(Fiber& fiber, const ServerRequest& request, Responder& responder) {
  if (request.path == "/health" || request.path == "/ping") {
    (void)co_await responder.send(faults_.now().health_status, "", "");
  } else if (request.path == "/version") {
    (void)co_await responder.send(200, json_type, R"({"version":"0.0.0+evenkeel.emulator"})");
  } else if (request.path == "/load") {
    (void)co_await responder.send(200, json_type, fmt::format(R"({{"server_load":{}}})", counters_.in_flight));
  } else if (request.path == "/v1/models") {
    (void)co_await responder.send(200, json_type, models_json());
  } else {
    if (const auto delay = faults_.now().metrics_delay_ms; delay > 0) {
      const Time until = fiber.loop().now() + std::chrono::milliseconds(delay);
      fiber.set_deadline(until);
      while (!fiber.deadline_passed() && !responder.client_gone()) co_await fiber.wait();
      fiber.clear_deadline();
    }
    (void)co_await responder.send(200, "text/plain; version=0.0.4; charset=utf-8", metrics_text());
  }
}

Task<void> Replica::stored_response(const ServerRequest& request, Responder& responder) {
  std::string_view id = std::string_view(request.path).substr(std::string_view("/v1/responses/").size());
  const bool cancel = request.method == "POST";
  if (cancel) id.remove_suffix(std::string_view("/cancel").size());
  const auto found = std::ranges::find(stored_, id, &std::pair<std::string, std::string>::first);
  if (found == stored_.end()) {
    const ApiError error{404, "NotFoundError", fmt::format("Response with id '{}' not found.", id), "response_id"};
    (void)co_await refuse(responder, error);
  } else if (cancel) {
    const ApiError error{400, "BadRequestError", "Cannot cancel a synchronous response.", "response_id"};
    (void)co_await refuse(responder, error);
  } else {
    const std::string body = found->second;  // the deque may move on while we wait
    (void)co_await responder.send(200, json_type, body);
  }
}

Task<void> Replica::embeddings(const ServerRequest& request, Responder& responder) {
  const auto parsed = parse_embedding(request.body, options_.model);
  if (!parsed) {
    (void)co_await refuse(responder, parsed.error());
    co_return;
  }
  const std::string id = fmt::format("embd-{:016x}{:016x}", ids_.next(), ids_.next());
  (void)co_await responder.send(200, json_type, embedding_json(*parsed, id, options_.model, created_, options_.seed));
}

Task<void> Replica::count_tokens(const ServerRequest& request, Responder& responder) {
  const auto parsed = parse_tokenize(request.body, options_.model);
  if (!parsed) {
    (void)co_await refuse(responder, parsed.error(), Endpoint::messages);
    co_return;
  }
  (void)co_await responder.send(200, json_type, fmt::format(R"({{"input_tokens":{}}})", parsed->tokens));
}

Task<void> Replica::tokens(const ServerRequest& request, Responder& responder) {
  std::string body;
  std::optional<ApiError> error;
  if (request.path == "/tokenize") {
    const auto prompt = parse_tokenize(request.body, options_.model);
    if (prompt) {
      body = fmt::format(R"({{"count":{},"max_model_len":{},"tokens":[{}],"token_strs":null}})", prompt->tokens,
                         options_.engine.model_length().value(), fmt::join(prompt->ids, ","));
    } else {
      error = prompt.error();
    }
  } else {
    const auto ids = parse_detokenize(request.body, options_.model);
    std::string text;
    if (ids) {
      for (const auto id : *ids) text += text_of_id(id);
    } else {
      error = ids.error();
    }
    body = R"({"prompt":)" + json_string(text) + "}";
  }
  if (error) {
    (void)co_await refuse(responder, *error);
  } else {
    (void)co_await responder.send(200, json_type, body);
  }
}

Task<void> Replica::control(const ServerRequest& request, Responder& responder) {
  if (request.path == "/emulator/state" && request.method == "GET") {
    (void)co_await responder.send(200, json_type,
                                  state_json(*engine_, counters_, connections(), kv_.get(), bootstrap_.get()));
  } else if (request.path == "/emulator/measure" && request.method == "POST") {
    const std::string ended = measured_json(engine_->measured());
    engine_->restart_measuring();
    (void)co_await responder.send(200, json_type, ended);
  } else if (request.path == "/emulator/restart_cache" && request.method == "POST") {
    engine_->clear_caches(true);
    (void)co_await responder.send(200, json_type, "{}");
  } else if (request.path == "/emulator/faults") {
    co_await set_faults(request, responder);
  } else {
    (void)co_await responder.send(404, json_type,
                                  R"({"error":"there are GET /emulator/state, POST /emulator/measure, POST )"
                                  R"(/emulator/restart_cache and GET, POST and DELETE /emulator/faults"})");
  }
}

Task<void> Replica::set_faults(const ServerRequest& request, Responder& responder) {
  if (request.method == "POST") {
    const auto changed = change_faults(faults_.now(), request.body);
    if (!changed) {
      (void)co_await responder.send(400, json_type, R"({"error":)" + json_string(changed.error().message) + "}");
      co_return;
    }
    apply(*changed);
  } else if (request.method == "DELETE") {
    apply(Faults{});
  } else if (request.method != "GET") {
    (void)co_await responder.send(405, json_type, R"({"error":"GET, POST or DELETE"})");
    co_return;
  }
  (void)co_await responder.send(200, json_type, faults_json(faults_.now()));
}

std::string Replica::models_json() const {
  namespace json = boost::json;
  const json::object permission{{"id", "modelperm-emulated"},
                                {"object", "model_permission"},
                                {"created", created_},
                                {"allow_create_engine", false},
                                {"allow_sampling", true},
                                {"allow_logprobs", true},
                                {"allow_search_indices", false},
                                {"allow_view", true},
                                {"allow_fine_tuning", false},
                                {"organization", "*"},
                                {"group", nullptr},
                                {"is_blocking", false}};
  const json::object card{{"id", options_.model},
                          {"object", "model"},
                          {"created", created_},
                          {"owned_by", "vllm"},
                          {"root", options_.model},
                          {"parent", nullptr},
                          {"max_model_len", options_.engine.model_length().value()},
                          {"permission", json::array{permission}}};
  return json::serialize(json::object{{"object", "list"}, {"data", json::array{card}}});
}

std::string Replica::metrics_text() const {
  const auto gauges = engine_->gauges();
  MetricsView view{options_.model, options_.metric_names, options_.engine, gauges, times_};
  if (kv_) view.kv = kv_->counters();
  if (own_rank_) {
    if (kv_) view.kv = view.kv.subspan(*own_rank_, 1);
    view.gauges = view.gauges.subspan(*own_rank_, 1);
    view.times = view.times.subspan(*own_rank_, 1);
    view.first_rank = *own_rank_;
  }
  view.started = created_;
  return metrics_page(view);
}

std::size_t Replica::connections() const {
  std::size_t open = 0;
  for (const auto& server : servers_) open += server->connections();
  return open;
}

}  // namespace evenkeel::emulator
