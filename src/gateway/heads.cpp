#include "gateway/heads.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.hpp"
#include "http/server.hpp"

namespace evenkeel::gateway {

namespace {

void append_number(std::string& out, std::uint64_t number, int base = 10) {
  std::array<char, 24> digits;
  const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
  out.append(digits.data(), end);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

bool among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return equals_ignoring_case(name, other); });
}

/// RFC 9110 7.6.1, but for what Connection itself names.
bool hop_by_hop(std::string_view name) {
  switch (name.size()) {
    case 2: return among(name, {"te"});
    case 7: return among(name, {"upgrade", "trailer"});
    case 10: return among(name, {"connection", "keep-alive"});
    case 16: return among(name, {"proxy-connection"});
    case 17: return among(name, {"transfer-encoding"});
    case 18: return among(name, {"proxy-authenticate"});
    case 19: return among(name, {"proxy-authorization"});
    default: return false;
  }
}

bool named_by_connection(std::string_view connection, std::string_view name) {
  if (connection.empty()) return false;
  for (const auto token : split(connection, ',')) {
    if (equals_ignoring_case(trim(token), name)) return true;
  }
  return false;
}

/// The value of Connection where it names fields beyond close and keep-alive, else empty.
std::string_view connection_names(const http::Head& head, std::string_view bytes) {
  const auto value = head.find(bytes, "connection");
  if (!value || among(trim(*value), {"close", "keep-alive", ""})) return {};
  return *value;
}

/// Fields by which a client could address a rank or override what an engine believes of a request.
bool addresses_engine(std::string_view name) {
  return among(name, {"x-data-parallel-rank", "x-vllm-priority"}) ||
         (name.size() > 11 && equals_ignoring_case(name.substr(0, 11), "x-override-")) ||
         (name.size() > 12 && equals_ignoring_case(name.substr(0, 12), "x-bootstrap-"));
}

bool ours_to_say_upstream(std::string_view name) {
  switch (name.size()) {
    case 4: return among(name, {"host"});
    case 6: return among(name, {"expect"});
    case 12: return among(name, {"x-request-id"});
    case 14: return among(name, {"content-length"});
    case 15: return among(name, {"accept-encoding"});
    default: return false;
  }
}

bool ours_to_say_downstream(std::string_view name) {
  switch (name.size()) {
    case 12: return among(name, {"x-request-id"});
    case 14: return among(name, {"content-length"});
    default:
      return (name.size() > 15 && equals_ignoring_case(name.substr(0, 15), "access-control-")) ||
             (name.size() > 11 && equals_ignoring_case(name.substr(0, 11), "x-evenkeel-"));
  }
}

void append_receipt(std::string& out, const Request& request) {
  const fleet::Receipt& receipt = request.receipt;
  if (!request.worker.empty()) {
    append_field(out, "X-Evenkeel-Policy", receipt.policy);
    append_field(out, "X-Evenkeel-Reason", receipt.reason);
    append_field(out, "X-Evenkeel-Worker", request.worker);
    out += "X-Evenkeel-Candidates: ";
    append_number(out, receipt.candidates);
    out += "\r\n";
    out += "X-Evenkeel-Signal-Age-Ms: ";
    if (receipt.signal_age >= Duration(0)) {
      append_number(out, static_cast<std::uint64_t>(receipt.signal_age / std::chrono::milliseconds(1)));
    } else {
      out += "none";
    }
    out += "\r\n";
  }
  out += "X-Evenkeel-Waited-Ms: ";
  append_number(out, static_cast<std::uint64_t>(request.queued / std::chrono::milliseconds(1)));
  out += "\r\nX-Evenkeel-Attempt: ";
  append_number(out, static_cast<std::uint64_t>(request.attempts));
  out += "\r\n";
}

}  // namespace

void append_upstream_head(std::string& out, const Request& request, const Upstream& upstream,
                          const config::ServeSettings& settings) {
  const std::string_view bytes = request.head_bytes;
  out += request.method;
  out += ' ';
  out += upstream.base_path;
  // Engines answer a trailing slash with a redirect to themselves; it is dropped here.
  const bool slash = request.path.size() > 1 && request.path.ends_with('/');
  out += request.path.substr(0, request.path.size() - (slash ? 1 : 0));
  out += request.target.substr(request.path.size());
  out += " HTTP/1.1\r\n";
  append_field(out, "Host", upstream.authority);
  const std::string_view named = connection_names(*request.head, bytes);
  for (const http::Field& field : request.head->fields) {
    const std::string_view name = field.name.in(bytes);
    if (hop_by_hop(name) || ours_to_say_upstream(name) || named_by_connection(named, name)) continue;
    if (!settings.forward_authorization && among(name, {"authorization", "x-api-key"})) continue;
    if (!upstream.authorization.empty() && among(name, {"authorization"})) continue;
    if (!settings.trust_client_transfer && addresses_engine(name)) continue;
    append_field(out, name, field.value.in(bytes));
  }
  append_field(out, "X-Request-Id", request.id);
  append_field(out, "Accept-Encoding", "identity");
  if (!upstream.authorization.empty()) append_field(out, "Authorization", upstream.authorization);
  if (request.chunked_up) {
    append_field(out, "Transfer-Encoding", "chunked");
  } else if (request.up_length > 0 || request.method == "POST" || request.method == "PUT" ||
             request.method == "PATCH") {
    out += "Content-Length: ";
    append_number(out, request.up_length);
    out += "\r\n";
  }
  out += "\r\n";
}

void append_own_fields(std::string& out, const Request& request, const config::ServeSettings& settings) {
  if (!request.id.empty()) append_field(out, "X-Request-Id", request.id);
  if (settings.receipts && (request.attempts > 0 || request.refusal)) append_receipt(out, request);
  if (request.head == nullptr || settings.cors_origins.empty()) return;
  const auto origin = request.head->find(request.head_bytes, "origin");
  if (!origin) return;
  for (const std::string& allowed : settings.cors_origins) {
    if (allowed != "*" && allowed != *origin) continue;
    append_field(out, "Access-Control-Allow-Origin", allowed == "*" ? "*" : *origin);
    if (allowed != "*") append_field(out, "Vary", "Origin");
    append_field(out, "Access-Control-Expose-Headers", "*");
    return;
  }
}

void append_answer_head(std::string& out, const http::Head& head, std::string_view head_bytes, const Request& request,
                        const config::ServeSettings& settings, const AnswerStyle& style) {
  out += request.http10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(head.status));
  out += ' ';
  out += head.reason.size > 0 ? head.reason.in(head_bytes) : http::reason_phrase(head.status);
  out += "\r\n";
  const std::string_view named = connection_names(head, head_bytes);
  for (const http::Field& field : head.fields) {
    const std::string_view name = field.name.in(head_bytes);
    if (hop_by_hop(name) || ours_to_say_downstream(name) || named_by_connection(named, name)) continue;
    if (style.event_stream && among(name, {"cache-control", "x-accel-buffering"})) continue;
    append_field(out, name, field.value.in(head_bytes));
  }
  if (style.event_stream) {
    append_field(out, "Cache-Control", "no-cache");
    append_field(out, "X-Accel-Buffering", "no");
  }
  append_own_fields(out, request, settings);
  if (style.framing == Framing::length) {
    out += "Content-Length: ";
    append_number(out, style.length);
    out += "\r\n";
  } else if (style.framing == Framing::chunked) {
    append_field(out, "Transfer-Encoding", "chunked");
  }
  if (!style.keep_alive) {
    append_field(out, "Connection", "close");
  } else if (request.http10) {
    append_field(out, "Connection", "keep-alive");
  }
  out += "\r\n";
}

}  // namespace evenkeel::gateway
