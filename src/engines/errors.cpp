#include "engines/errors.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/text.hpp"
#include "engines/json.hpp"

namespace evenkeel::engines {
namespace {

using fleet::Outcome;

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

bool says_any(std::string_view lowered_text, std::initializer_list<std::string_view> phrases) {
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](std::string_view phrase) { return lowered_text.find(phrase) != std::string_view::npos; });
}

/// SGLang: full queue, eviction by priority, deadline in the queue. TGI and Anthropic's shape: overloaded.
/// Ollama: busy. "Loading", "starting", "scaling" and an empty body are none of these.
bool says_busy(std::string_view words) {
  return says_any(words, {"queue is full", "queue full", "higher priority request", "waiting timeout", "overloaded",
                          "server busy", "server is busy", "too many requests", "rate limit", "rate_limit"});
}

bool says_over_context(std::string_view words) {
  return says_any(words,
                  {"maximum context length", "maximum model length", "exceed_context_size", "context_length_exceeded",
                   "exceeds the available context", "longer than the model's context length"});
}

constexpr int overloaded_529 = 529;

/// What a type, or a code that is a word, means where no number is given.
int status_of_word(std::string_view word) {
  using Meaning = std::pair<std::string_view, int>;
  constexpr std::array<Meaning, 17> meanings = {{{"invalid_request_error", 400},
                                                 {"badrequesterror", 400},
                                                 {"bad_request", 400},
                                                 {"json_parse_error", 400},
                                                 {"exceed_context_size_error", 400},
                                                 {"context_length_exceeded", 400},
                                                 {"authentication_error", 401},
                                                 {"permission_error", 403},
                                                 {"not_found_error", 404},
                                                 {"notfounderror", 404},
                                                 {"model_not_found", 404},
                                                 {"rate_limit_error", 429},
                                                 {"rate_limit_exceeded", 429},
                                                 {"overloaded", 429},
                                                 {"overloaded_error", overloaded_529},
                                                 {"service_unavailable", 503},
                                                 {"unavailable_error", 503}}};
  const std::string plain = lowered(word);
  for (const auto& [name, status] : meanings) {
    if (plain == name) return status;
  }
  if (plain == "validation") return 422;  // TGI
  if (plain == "generation") return 424;  // TGI
  return 0;
}

bool is_error_status(double status) { return status >= 400 && status <= 599; }

/// 0 if the member tells no status.
int status_member(simdjson::dom::element object, std::string_view name) {
  if (const auto number = amount_member(object, name)) return is_error_status(*number) ? static_cast<int>(*number) : 0;
  const std::string_view text = text_member(object, name);
  if (const auto number = parse_unsigned(text)) {
    return is_error_status(static_cast<double>(*number)) ? static_cast<int>(*number) : 0;
  }
  return status_of_word(text);
}

int status_of(simdjson::dom::element error) {
  for (const std::string_view name : {"code", "http_status_code", "type", "error_type"}) {
    if (const int status = status_member(error, name); status != 0) return status;
  }
  return 500;
}

/// TGI streams every error as 422, also those that it answers with 429 and 424 elsewhere.
int told_apart(int status, std::string_view message) {
  if (status != 422) return status;
  const std::string words = lowered(message);
  if (says_any(words, {"overloaded"})) return 429;
  if (says_any(words, {"failed during generation"})) return 424;
  return status;
}

ErrorEvent of_object(simdjson::dom::element error) {
  const std::string_view message = text_member(error, "message");
  return {told_apart(status_of(error), message), std::string(message)};
}

std::optional<ErrorEvent> of_error_member(simdjson::dom::element root, simdjson::dom::element error) {
  if (error.is_object()) return of_object(error);
  std::string_view message;
  if (error.get(message) == simdjson::SUCCESS) return ErrorEvent{status_of(root), std::string(message)};
  return std::nullopt;  // null, or a flag that something else carries
}

}  // namespace

Outcome classify_answer(Kind kind, int status, std::string_view body_or_prefix) {
  if (status < 400) return Outcome::completed;
  if (status == 408 || status == 429) return Outcome::back_pressure;
  if (status == 424 && kind == Kind::tgi) return Outcome::worker_fault;
  if (status < 500) return Outcome::client_fault;
  constexpr std::size_t looked_at = 4096;
  const std::string words = lowered(body_or_prefix.substr(0, looked_at));
  if ((status == 503 || status == overloaded_529) && says_busy(words)) return Outcome::back_pressure;
  if (says_over_context(words)) return Outcome::client_fault;
  return Outcome::worker_fault;
}

std::optional<ErrorEvent> read_error_event(std::string_view data) {
  if (data.find("\"error\"") == std::string_view::npos) return std::nullopt;
  const Json json(data);
  if (!json.root()) return std::nullopt;
  const simdjson::dom::element root = *json.root();
  if (const auto error = member(root, "error")) {
    if (auto event = of_error_member(root, *error)) return event;
  }
  if (text_member(root, "object") == "error") return of_object(root);
  if (text_member(root, "type") == "error") return of_object(root);
  if (text_member(root, "type") == "response.failed") {
    const auto response = member(root, "response");
    const auto error = response ? member(*response, "error") : std::nullopt;
    return error && error->is_object() ? of_object(*error) : ErrorEvent{};
  }
  return std::nullopt;
}

bool refuses_rank(std::string_view data) {
  const auto error = read_error_event(data);
  if (!error) return false;
  const std::string_view message = trim(error->message);
  return message.starts_with("data_parallel_rank ") || message.starts_with("routed_dp_rank=");
}

}  // namespace evenkeel::engines
