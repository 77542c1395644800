#include "workload/access_log.hpp"

#include <simdjson.h>

#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::workload {

namespace {

constexpr int version = 1;
constexpr std::array token_sources = {TokenSource::usage, TokenSource::token_ids, TokenSource::events,
                                      TokenSource::estimate, TokenSource::none};

/// Writes `,"key":` and then a value of the kind asked for.
class Line {
 public:
  explicit Line(std::string& out) : out_(out) {}

  void text(std::string_view key, std::string_view value) {
    this->key(key);
    append_json_string(out_, value);
  }
  void optional_text(std::string_view key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  void whole(std::string_view key, std::int64_t value) {
    this->key(key);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void number(std::string_view key, double value) {
    this->key(key);
    fmt::format_to(std::back_inserter(out_), "{}", std::isfinite(value) ? value : 0.0);
  }
  void number(std::string_view key, std::optional<double> value) {
    if (value) number(key, *value);
  }
  void yes_no(std::string_view key, bool value) {
    this->key(key);
    out_ += value ? "true" : "false";
  }

 private:
  void key(std::string_view key) {
    out_ += ",\"";
    out_ += key;
    out_ += "\":";
  }
  std::string& out_;
};

}  // namespace

std::optional<TokenSource> token_source_named(std::string_view word) {
  for (const TokenSource source : token_sources) {
    if (fleet::to_string(source) == word) return source;
  }
  return std::nullopt;
}

void append_access_log_line(std::string& out, const AccessLogRecord& r) {
  fmt::format_to(std::back_inserter(out), "{{\"v\":{}", version);
  Line line(out);
  line.whole("ts", r.ts);
  line.text("id", r.id);
  line.text("model", r.model);
  line.optional_text("worker", r.worker);
  line.optional_text("prefill_worker", r.prefill_worker);
  line.optional_text("from_peer", r.from_peer);
  line.optional_text("client", r.client);
  line.text("endpoint", r.endpoint);
  line.yes_no("stream", r.stream);
  line.text("outcome", r.outcome);
  line.whole("status", r.status);
  line.optional_text("reason", r.reason);
  line.optional_text("refusal", r.refusal);
  line.whole("prompt_tokens", r.prompt_tokens);
  line.text("prompt_tokens_from", to_string(r.prompt_tokens_from));
  line.whole("output_tokens", r.output_tokens);
  line.text("output_tokens_from", to_string(r.output_tokens_from));
  line.number("queue_ms", r.queue_ms);
  line.number("prefill_ms", r.prefill_ms);
  line.number("first_byte_ms", r.first_byte_ms);
  line.number("total_ms", r.total_ms);
  line.whole("bytes_in", r.bytes_in);
  line.whole("bytes_out", r.bytes_out);
  line.optional_text("policy", r.policy);
  line.optional_text("route_reason", r.route_reason);
  line.optional_text("route", r.route);
  line.optional_text("candidates", r.candidates);
  line.number("waited_ms", r.waited_ms);
  line.number("signal_age_ms", r.signal_age_ms);
  line.whole("attempt", r.attempt);
  if (r.expected_hit_tokens) line.whole("expected_hit_tokens", *r.expected_hit_tokens);
  if (r.cached_tokens) line.whole("cached_tokens", *r.cached_tokens);
  line.optional_text("scarcest", r.scarcest);
  line.number("headroom", r.headroom);
  out += "}\n";
}

struct AccessLogReader::Parser {
  simdjson::dom::parser json;
};

AccessLogReader::AccessLogReader() : parser_(std::make_unique<Parser>()) {}
AccessLogReader::~AccessLogReader() = default;
AccessLogReader::AccessLogReader(AccessLogReader&&) noexcept = default;
AccessLogReader& AccessLogReader::operator=(AccessLogReader&&) noexcept = default;

namespace {

using simdjson::dom::element;

/// Each take() says whether the value was of the right kind; the caller names the key.
bool take(element value, std::string_view& into) { return value.get(into) == simdjson::SUCCESS; }
bool take(element value, bool& into) { return value.get(into) == simdjson::SUCCESS; }
bool take(element value, std::int64_t& into) { return value.get(into) == simdjson::SUCCESS; }
bool take(element value, double& into) { return value.get(into) == simdjson::SUCCESS; }

bool take(element value, int& into) {
  std::int64_t wide = 0;
  if (!take(value, wide) || wide < 0 || wide > std::numeric_limits<int>::max()) return false;
  into = static_cast<int>(wide);
  return true;
}
bool take(element value, std::optional<double>& into) {
  if (value.is_null()) return true;
  double present = 0;
  if (!take(value, present)) return false;
  into = present;
  return true;
}
bool take(element value, std::optional<std::int64_t>& into) {
  if (value.is_null()) return true;
  std::int64_t present = 0;
  if (!take(value, present) || present < 0) return false;
  into = present;
  return true;
}
bool take(element value, TokenSource& into) {
  std::string_view word;
  if (!take(value, word)) return false;
  const auto source = token_source_named(word);
  if (source) into = *source;
  return source.has_value();
}

constexpr std::string_view kind_of(const std::string_view&) { return "a text"; }
constexpr std::string_view kind_of(const bool&) { return "true or false"; }
constexpr std::string_view kind_of(const std::int64_t&) { return "a whole number"; }
constexpr std::string_view kind_of(const int&) { return "a whole number from 0 to 2147483647"; }
constexpr std::string_view kind_of(const double&) { return "a number"; }
constexpr std::string_view kind_of(const std::optional<double>&) { return "a number or null"; }
constexpr std::string_view kind_of(const std::optional<std::int64_t>&) { return "a whole number from 0 or null"; }
constexpr std::string_view kind_of(const TokenSource&) {
  return "one of \"usage\", \"token_ids\", \"events\", \"estimate\", \"none\"";
}

/// Takes `value` if `key` is `wanted`. Returns true if it was this field; `fault` says what was wrong with
/// it.
template <class Field>
bool field(std::string_view key, element value, std::string_view wanted, Field& into, std::string& fault) {
  if (key != wanted) return false;
  if (!take(value, into)) {
    fault = fmt::format("field \"{}\" is {}; allowed: {}", key, simdjson::minify(value), kind_of(into));
  }
  return true;
}

std::string read_field(std::string_view key, element value, AccessLogRecord& r) {
  std::string fault;
  const auto is = [&](std::string_view wanted, auto& into) { return field(key, value, wanted, into, fault); };
  [[maybe_unused]] const bool known =
      is("ts", r.ts) || is("id", r.id) || is("model", r.model) || is("worker", r.worker) ||
      is("prefill_worker", r.prefill_worker) || is("prefill_ms", r.prefill_ms) || is("from_peer", r.from_peer) ||
      is("client", r.client) || is("route", r.route) || is("endpoint", r.endpoint) || is("stream", r.stream) ||
      is("outcome", r.outcome) || is("status", r.status) || is("reason", r.reason) || is("refusal", r.refusal) ||
      is("prompt_tokens", r.prompt_tokens) || is("prompt_tokens_from", r.prompt_tokens_from) ||
      is("output_tokens", r.output_tokens) || is("output_tokens_from", r.output_tokens_from) ||
      is("queue_ms", r.queue_ms) || is("first_byte_ms", r.first_byte_ms) || is("total_ms", r.total_ms) ||
      is("bytes_in", r.bytes_in) || is("bytes_out", r.bytes_out) || is("policy", r.policy) ||
      is("route_reason", r.route_reason) || is("candidates", r.candidates) || is("waited_ms", r.waited_ms) ||
      is("signal_age_ms", r.signal_age_ms) || is("attempt", r.attempt) ||
      is("expected_hit_tokens", r.expected_hit_tokens) || is("cached_tokens", r.cached_tokens) ||
      is("scarcest", r.scarcest) || is("headroom", r.headroom);
  return fault;
}

std::string check_version(const simdjson::dom::object& object) {
  element value;
  if (object["v"].get(value) != simdjson::SUCCESS) return "field \"v\" is missing; allowed: 1";
  std::int64_t found = 0;
  if (value.get(found) != simdjson::SUCCESS || found != version) {
    return fmt::format("field \"v\" is {}; this reader knows version {} only", simdjson::minify(value), version);
  }
  return {};
}

/// Values that nothing was ever logged with: a sign that the line is not as it was written.
std::string damage(const AccessLogRecord& r) {
  const std::pair<std::string_view, double> amounts[] = {{"ts", static_cast<double>(r.ts)},
                                                         {"prompt_tokens", static_cast<double>(r.prompt_tokens)},
                                                         {"output_tokens", static_cast<double>(r.output_tokens)},
                                                         {"bytes_in", static_cast<double>(r.bytes_in)},
                                                         {"bytes_out", static_cast<double>(r.bytes_out)},
                                                         {"queue_ms", r.queue_ms},
                                                         {"prefill_ms", r.prefill_ms.value_or(0)},
                                                         {"first_byte_ms", r.first_byte_ms.value_or(0)},
                                                         {"total_ms", r.total_ms},
                                                         {"waited_ms", r.waited_ms},
                                                         {"signal_age_ms", r.signal_age_ms.value_or(0)}};
  for (const auto& [name, value] : amounts) {
    if (value < 0) return fmt::format("field \"{}\" is {}; allowed: numbers from 0", name, value);
  }
  constexpr double rounding_ms = 1;
  for (const auto& [name, part] :
       {std::pair<std::string_view, double>{"queue_ms", r.queue_ms}, {"first_byte_ms", r.first_byte_ms.value_or(0)}}) {
    if (part <= r.total_ms + rounding_ms || r.total_ms == 0) continue;  // it may have been left out
    return fmt::format("field \"{}\" is {}; allowed: at most \"total_ms\", which is {}", name, part, r.total_ms);
  }
  return {};
}

}  // namespace

Result<AccessLogRecord> AccessLogReader::read(std::string_view line) {
  simdjson::dom::object object;
  if (const auto code = parser_->json.parse(line.data(), line.size()).get(object); code != simdjson::SUCCESS) {
    return failure(fmt::format("not a JSON object: {}", simdjson::error_message(code)));
  }
  if (auto fault = check_version(object); !fault.empty()) return failure(std::move(fault));
  AccessLogRecord record;
  bool has_ts = false;
  bool has_model = false;
  for (const auto [key, value] : object) {
    if (auto fault = read_field(key, value, record); !fault.empty()) return failure(std::move(fault));
    has_ts |= key == "ts";
    has_model |= key == "model";
  }
  if (!has_ts) return failure("field \"ts\" is missing; allowed: arrival in Unix milliseconds");
  if (!has_model) return failure("field \"model\" is missing; allowed: a text");
  if (auto fault = damage(record); !fault.empty()) return failure(std::move(fault));
  return record;
}

}  // namespace evenkeel::workload
