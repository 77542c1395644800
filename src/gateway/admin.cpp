#include "gateway/admin.hpp"

#include <simdjson.h>

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "config/load.hpp"
#include "gateway/error_body.hpp"
#include "gateway/peer_report.hpp"
#include "gateway/pressure_page.hpp"

namespace evenkeel::gateway {

namespace json = boost::json;

namespace {

std::string error_text(std::string_view message) {
  ApiError error;
  error.type = "invalid_request_error";
  error.message = message;
  return error_body(Dialect::openai, error);
}

std::string json_text(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

/// %41 and such, as names come in paths ("host:port" may be sent with %3A).
std::string decode_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      const char c = at < text.size() ? text[at] : '?';
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      if (c >= 'A' && c <= 'F') return c - 'A' + 10;
      return -1;
    };
    if (text[i] == '%' && digit(i + 1) >= 0 && digit(i + 2) >= 0) {
      out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// The first key that an object has twice: engines of JSON differ in which of the two counts.
std::optional<std::string> repeated_key(const std::string& body) {
  const simdjson::padded_string padded(body);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (parser.iterate(padded).get(document) || document.get_object().get(object)) return std::nullopt;
  std::set<std::string, std::less<>> seen;
  for (auto member : object) {
    simdjson::ondemand::field field;
    std::string_view key;
    if (std::move(member).get(field) || field.unescaped_key().get(key)) return std::nullopt;
    if (!seen.emplace(key).second) return std::string(key);
  }
  return std::nullopt;
}

/// Reads an object whose keys are all among `allowed`, each once.
Result<json::object> read_object(const std::string& body, std::span<const std::string_view> allowed) {
  boost::system::error_code code;
  json::value value = json::parse(body, code);
  if (code) return failure(fmt::format("the body is not valid JSON: {}", code.message()));
  if (!value.is_object()) return failure("the body must be a JSON object");
  for (const auto& member : value.get_object()) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const auto near = nearest_name(key, allowed);
    return failure(
        fmt::format("\"{}\" is no field here{}", key, near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near)));
  }
  if (const auto twice = repeated_key(body)) return failure(fmt::format("\"{}\" is there twice", *twice));
  return std::move(value.get_object());
}

/// "" if the key is not there.
Result<std::string> text_of(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains({key.data(), key.size()});
  if (value == nullptr) return std::string();
  if (!value->is_string()) return failure(fmt::format("\"{}\" must be a string", key));
  if (value->get_string().empty()) return failure(fmt::format("\"{}\" is empty: leave it out, or fill it", key));
  return std::string(value->get_string());
}

/// Nothing if the key is not there.
Result<std::optional<std::int64_t>> whole_of(const json::object& object, std::string_view key, std::int64_t least,
                                             std::int64_t most) {
  const auto* value = object.if_contains({key.data(), key.size()});
  if (value == nullptr) return std::nullopt;
  if (!value->is_int64() || value->get_int64() < least || value->get_int64() > most) {
    return failure(fmt::format("\"{}\" must be a whole number from {} to {}", key, least, most));
  }
  return value->get_int64();
}

/// 0 if there is none.
Result<std::int64_t> limit_of(const json::object& object) {
  const auto limit = whole_of(object, "max_in_flight", 1, 1'000'000);
  if (!limit) return tl::unexpected(limit.error());
  return limit->value_or(0);
}

std::string kv_events_json(const std::optional<engines::KvFeedStatus>& kv) {
  if (!kv) return "null";
  const auto null_or_number = [](const auto& value) { return value ? std::to_string(*value) : std::string("null"); };
  std::optional<std::int64_t> age_ms;
  if (kv->age) age_ms = *kv->age / std::chrono::milliseconds(1);
  return fmt::format(
      R"({{"source":"{}","state":"{}","age_ms":{},"sequence":{},"whole":{},"blocks":{},"block_size":{},"bytes":{},)"
      R"("batches":{},"gaps":{},"restarts":{},"replays":{},"unreadable":{},"unknown_events":{},"unplaced_blocks":{}}})",
      kv->state == engines::KvFeedState::live ? "exact" : "approximate", engines::to_string(kv->state),
      null_or_number(age_ms), null_or_number(kv->sequence), kv->whole, kv->blocks, kv->block_size, kv->memory_bytes,
      kv->batches, kv->gaps, kv->restarts, kv->replays, kv->unreadable, kv->unknown, kv->unplaced);
}

std::string null_or(std::string_view text) { return text.empty() ? "null" : json_text(text); }

std::string calibration_json(const std::optional<FleetControl::CalibrationFacts>& calibration) {
  if (!calibration) return "null";
  return fmt::format(R"({{"slots":{},"measured_at":"{}","counts":{},"why_not":{}}})", calibration->slots,
                     format_utc_millis(calibration->measured_at_ms), calibration->why_not.empty(),
                     null_or(calibration->why_not));
}

}  // namespace

std::string Admin::list_workers() const {
  std::string out = "[";
  for (const auto& worker : dispatcher_.workers()) {
    if (worker.state == dispatch::WorkerState::removed && worker.load.in_flight == 0) continue;
    const auto facts = control_.facts(worker.id).value_or(FleetControl::WorkerFacts{});
    const auto breaker = breakers_.status(worker.id);
    if (out.size() > 1) out += ',';
    fmt::format_to(std::back_inserter(out), "{{\"name\":{},\"url\":{},\"engine\":{},\"models\":[",
                   json_text(worker.spec.name), json_text(facts.url), json_text(facts.kind));
    for (const auto& model : facts.models) {
      if (out.back() != '[') out += ',';
      append_json_string(out, model);
    }
    fmt::format_to(
        std::back_inserter(out),
        "],\"role\":\"{}\",\"bootstrap_port\":{},\"engine_name\":{},\"rank\":{},\"rank_honoured\":{},\"group\":{}",
        fleet::to_string(facts.role), facts.bootstrap_port ? std::to_string(*facts.bootstrap_port) : "null",
        json_text(facts.engine), facts.rank ? std::to_string(*facts.rank) : "null",
        facts.rank_honoured ? (*facts.rank_honoured ? "true" : "false") : "null", null_or(facts.group));
    fmt::format_to(std::back_inserter(out),
                   ",\"state\":\"{}\",\"in_flight\":{},\"prompt_tokens\":{},\"queued_prompt_tokens\":{},\"generated_"
                   "tokens\":{},\"kv_tokens\":{},"
                   "\"foreign\":{{\"requests\":{},\"tokens\":{}}},\"capacity\":{{\"requests\":{},\"kv_tokens\":{}}},"
                   "\"rate\":{:.1f},",
                   dispatch::to_string(worker.state), worker.load.in_flight, worker.load.prompt_tokens.value(),
                   worker.load.queued_prompt.value(), worker.load.generated_tokens.value(),
                   worker.load.kv_tokens().value(), worker.foreign_requests, worker.foreign_tokens.value(),
                   worker.spec.max_in_flight, worker.kv_capacity.value(), worker.rate);
    if (worker.reported) {
      fmt::format_to(std::back_inserter(out), "\"signal_age_ms\":{}", worker.signal_age / std::chrono::milliseconds(1));
    } else {
      out += "\"signal_age_ms\":null";
    }
    fmt::format_to(std::back_inserter(out), ",\"kv_events\":{}", kv_events_json(facts.kv_events));
    fmt::format_to(std::back_inserter(out), ",\"calibration\":{}", calibration_json(facts.calibration));
    fmt::format_to(std::back_inserter(out),
                   ",\"breaker\":{{\"open\":{},\"trial\":{},\"faults\":{},\"ejections\":{}}},\"last_error\":{}}}",
                   breaker.open, breaker.trial, breaker.faults, breaker.ejections, json_text(facts.last_error));
  }
  return out + "]";
}

std::string Admin::show_pool() const {
  const auto pool = dispatcher_.pool();
  return fmt::format("{{\"waiting\":{},\"bytes\":{},\"oldest_ms\":{},\"drain_per_s\":{:.2f}}}", pool.waiting,
                     pool.bytes.value(), pool.oldest / std::chrono::milliseconds(1), pool.drain_per_s);
}

std::string Admin::show_pressure(Time now) const {
  if (pressure_ == nullptr) return "{\"acts\":\"off\"}";
  return pressure_json(pressure_->look(), pressure_->settings(), pressure_->worst_cgroups(), now);
}

Admin::Answer Admin::add_worker(const std::string& body) {
  constexpr std::array<std::string_view, 16> keys = {"kv_events",
                                                     "kv_events_replay",
                                                     "url",
                                                     "name",
                                                     "models",
                                                     "engine",
                                                     "calibration",
                                                     "max_in_flight",
                                                     "ranks",
                                                     "group",
                                                     "sync",
                                                     "role",
                                                     "bootstrap_port",
                                                     "api_key_file",
                                                     "api_key_env",
                                                     "prefix_cache_tokens"};
  auto object = read_object(body, keys);
  if (!object) return {400, error_text(object.error().message)};
  config::WorkerSetting setting;
  for (const auto& [key, into] : {std::pair<std::string_view, std::string*>{"url", &setting.url},
                                  {"name", &setting.name},
                                  {"engine", &setting.engine},
                                  {"group", &setting.group},
                                  {"role", &setting.role},
                                  {"kv_events", &setting.kv_events},
                                  {"calibration", &setting.calibration},
                                  {"kv_events_replay", &setting.kv_events_replay},
                                  {"api_key_file", &setting.api_key_file},
                                  {"api_key_env", &setting.api_key_env}}) {
    auto text = text_of(*object, key);
    if (!text) return {400, error_text(text.error().message)};
    if (!text->empty()) *into = *text;
  }
  if (setting.url.empty()) return {400, error_text("\"url\" is missing: http://host[:port]")};
  if (setting.engine != "auto" && !engines::kind_named(setting.engine)) {
    return {400, error_text(fmt::format("\"engine\": \"{}\" is not known (allowed: auto, {})", setting.engine,
                                        fmt::join(engines::kind_names(), ", ")))};
  }
  if (const auto* models = object->if_contains("models")) {
    if (!models->is_array()) return {400, error_text("\"models\" must be a list of strings")};
    for (const auto& model : models->get_array()) {
      if (!model.is_string()) return {400, error_text("\"models\" must be a list of strings")};
      setting.models.emplace_back(model.get_string());
    }
  }
  auto limit = limit_of(*object);
  if (!limit) return {400, error_text(limit.error().message)};
  setting.max_in_flight = *limit;
  const auto ranks = whole_of(*object, "ranks", 0, engines::max_ranks);
  if (!ranks) return {400, error_text(ranks.error().message)};
  setting.ranks = ranks->value_or(0);
  const auto bootstrap_port = whole_of(*object, "bootstrap_port", 0, 65535);
  if (!bootstrap_port) return {400, error_text(bootstrap_port.error().message)};
  setting.bootstrap_port = bootstrap_port->value_or(0);
  const auto cache = whole_of(*object, "prefix_cache_tokens", -1, 1'000'000'000);
  if (!cache) return {400, error_text(cache.error().message)};
  setting.prefix_cache_tokens = cache->value_or(-1);
  if (const auto* sync = object->if_contains("sync")) {
    if (!sync->is_bool()) return {400, error_text("\"sync\" must be true or false")};
    setting.sync = sync->get_bool();
  }
  const auto fine = config::check(setting);
  if (!fine) return {400, error_text(fine.error().message)};
  const auto added = control_.add(*fine);
  if (!added) {
    const bool taken = added.error().message.starts_with(FleetControl::taken);
    return {taken ? 409 : 400, error_text(added.error().message)};
  }
  return {201, fmt::format("{{\"name\":{}}}", json_text(*added))};
}

Admin::Answer Admin::change_worker(std::string_view name, const std::string& body) {
  constexpr std::array<std::string_view, 2> keys = {"max_in_flight", "state"};
  auto object = read_object(body, keys);
  if (!object) return {400, error_text(object.error().message)};
  auto limit = limit_of(*object);
  if (!limit) return {400, error_text(limit.error().message)};
  auto state = text_of(*object, "state");
  if (!state) return {400, error_text(state.error().message)};
  if (!state->empty() && *state != "active" && *state != "draining")
    return {400, error_text("\"state\" must be \"active\" or \"draining\"")};
  if (*limit == 0 && state->empty()) return {400, error_text("nothing to change: give \"max_in_flight\" or \"state\"")};
  bool found = true;
  if (*limit > 0) found = control_.set_max_in_flight(name, *limit);
  if (*state == "active") found = control_.activate(name);
  if (*state == "draining") found = control_.drain(name);
  return found ? Answer{200, "{\"changed\":true}"}
               : Answer{404, error_text(fmt::format("there is no worker \"{}\"", name))};
}

Admin::Answer Admin::answer(const http::ServerRequest& request, Time now) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  std::string_view path = request.path;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/workers" && reads) return {200, list_workers()};
  if (path == "/workers" && request.method == "POST") return add_worker(request.body);
  if (path == "/peers" && reads && peers_ != nullptr) {
    if (request.query == "format=table") return {200, peers_table(*peers_), "text/plain; charset=utf-8"};
    if (!request.query.empty()) return {400, error_text("/peers takes ?format=table, or no query")};
    return {200, peers_json(*peers_)};
  }
  if (path == "/pool" && reads) return {200, show_pool()};
  if (path == "/pressure" && reads) return {200, show_pressure(now)};
  if (path == "/metrics" && reads) return {200, metrics_(), "text/plain; version=0.0.4; charset=utf-8"};
  if (path == "/health" && reads) return {200, "{\"status\":\"ok\"}"};
  constexpr std::string_view workers = "/workers/";
  if (path.starts_with(workers)) {
    path.remove_prefix(workers.size());
    const bool drain = path.ends_with("/drain");
    if (drain) path.remove_suffix(6);
    const std::string name = decode_percent(path);
    const auto done = [&](bool found) {
      return found ? Answer{200, "{\"changed\":true}"}
                   : Answer{404, error_text(fmt::format("there is no worker \"{}\"", name))};
    };
    if (drain && request.method == "POST") return done(control_.drain(name));
    if (!drain && request.method == "DELETE") return done(control_.remove(name));
    if (!drain && request.method == "PATCH") return change_worker(name, request.body);
    return {405, error_text("a worker takes PATCH, DELETE, and POST .../drain")};
  }
  return {404,
          error_text(fmt::format("here are /workers, /workers/{{name}}, /workers/{{name}}/drain, {}/pool, /pressure, "
                                 "/metrics, /health",
                                 peers_ == nullptr ? "" : "/peers, "))};
}

http::Task<void> Admin::handle(http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder) {
  const Answer whole = answer(request, fiber.loop().now());
  (void)co_await responder.send(whole.status, whole.type, whole.body);
}

}  // namespace evenkeel::gateway
