#include "gateway/heads.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gateway/head_writer.hpp"
#include "http/server.hpp"

namespace evenkeel::gateway {

using http::FieldName;

namespace {

bool among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return equals_ignoring_case(name, other); });
}

constexpr std::uint32_t bits(std::initializer_list<FieldName> names) {
  std::uint32_t set = 0;
  for (const FieldName name : names) set |= 1U << static_cast<unsigned>(name);
  return set;
}

bool in(std::uint32_t set, FieldName name) { return (set >> static_cast<unsigned>(name) & 1U) != 0; }

/// RFC 9110 7.6.1, but for what Connection itself names.
constexpr std::uint32_t hop_by_hop =
    bits({FieldName::te, FieldName::upgrade, FieldName::trailer, FieldName::connection, FieldName::keep_alive,
          FieldName::proxy_connection, FieldName::transfer_encoding, FieldName::proxy_authenticate,
          FieldName::proxy_authorization});
constexpr std::uint32_t ours_upstream = bits({FieldName::host, FieldName::expect, FieldName::x_request_id,
                                              FieldName::content_length, FieldName::accept_encoding});
constexpr std::uint32_t ours_downstream = bits({FieldName::x_request_id, FieldName::content_length});

bool named_by_connection(std::string_view connection, std::string_view name) {
  if (connection.empty()) return false;
  for (const auto token : split(connection, ',')) {
    if (equals_ignoring_case(trim(token), name)) return true;
  }
  return false;
}

/// The value of Connection where it names fields beyond close and keep-alive, else empty.
std::string_view connection_names(const http::Head& head, std::string_view bytes) {
  const auto value = head.find(bytes, FieldName::connection);
  if (!value || among(trim(*value), {"close", "keep-alive", ""})) return {};
  return *value;
}

constexpr std::string_view rank_field = "x-data-parallel-rank";

/// Fields by which a client could address a rank or override what an engine believes of a request.
bool addresses_engine(std::string_view name) {
  if ((name.front() | 0x20) != 'x') return false;
  return among(name, {rank_field, "x-vllm-priority"}) || goes_on_from("x-override-", name) ||
         goes_on_from("x-bootstrap-", name);
}

/// Fields of an answer that only we may say, whatever the engine says; or the `peer` that answers, whose placement is
/// not the client's business.
bool says_what_is_ours(std::string_view name, bool peer) {
  const int first = name.front() | 0x20;
  if (peer && goes_on_from("x-lobes-", name)) return true;
  return (first == 'a' && goes_on_from("access-control-", name)) || (first == 'x' && goes_on_from("x-evenkeel-", name));
}

/// Copies the fields that pass, as they came but for blanks around the colon. Fields that stand together in the wire's
/// usual form go in one piece.
template <class Stays>
void copy_fields(HeadWriter& out, const http::Head& head, std::string_view bytes, Stays stays) {
  std::size_t from = 0, to = 0;  // what is still to be copied
  for (const http::Field& field : head.fields) {
    if (stays(field)) continue;
    const std::size_t name_end = field.name.at + field.name.size;
    const std::size_t end = field.value.at + field.value.size;
    const bool usual = field.value.at == name_end + 2 && bytes[name_end + 1] == ' ' && bytes.substr(end, 2) == "\r\n";
    if (!usual || field.name.at != to) {
      out << bytes.substr(from, to - from);
      from = to = field.name.at;
    }
    if (usual) {
      to = end + 2;
    } else {
      out << field.name.in(bytes) << ": " << field.value.in(bytes) << "\r\n";
    }
  }
  out << bytes.substr(from, to - from);
}

/// As "0.042". Nothing is left of what is over its end.
std::string permille(double share) { return fmt::format("{:.3f}", std::clamp(share, 0.0, 1.0)); }

void write_receipt(HeadWriter& out, const Request& request) {
  const auto millis = [](Duration duration) {
    return static_cast<std::uint64_t>(duration / std::chrono::milliseconds(1));
  };
  const fleet::Receipt& receipt = request.receipt;
  if (!request.worker.empty()) {
    out << "X-Evenkeel-Policy: " << receipt.policy << "\r\nX-Evenkeel-Reason: " << receipt.reason
        << "\r\nX-Evenkeel-Worker: " << request.worker
        << "\r\nX-Evenkeel-Candidates: " << std::uint64_t{receipt.candidates} << "\r\nX-Evenkeel-Signal-Age-Ms: ";
    if (receipt.signal_age >= Duration(0)) {
      out << millis(receipt.signal_age);
    } else {
      out << "none";
    }
    out << "\r\n";
    if (!receipt.scarcest.empty()) {
      out << "X-Evenkeel-Headroom: " << receipt.scarcest << " " << permille(receipt.left) << "\r\n";
    }
  }
  if (!receipt.route.empty()) out << "X-Evenkeel-Route-Reason: " << receipt.route << "\r\n";
  if (request.expected_hit) {
    out << "X-Evenkeel-Expected-Hit-Tokens: " << static_cast<std::uint64_t>(request.expected_hit->value()) << "\r\n";
  }
  if (!request.prefill_worker.empty() || request.kept_whole) {
    out << "X-Evenkeel-Prefill-Worker: " << (request.kept_whole ? "none" : request.prefill_worker) << "\r\n";
  }
  out << "X-Evenkeel-Waited-Ms: " << millis(request.queued)
      << "\r\nX-Evenkeel-Attempt: " << static_cast<std::uint64_t>(request.attempts) << "\r\n";
}

void write_origin(HeadWriter& out, const Request& request, const config::ServeSettings& settings) {
  const auto origin = request.head->find(request.head_bytes, FieldName::origin);
  if (!origin) return;
  for (const std::string& allowed : settings.cors_origins) {
    if (allowed != "*" && allowed != *origin) continue;
    out << "Access-Control-Allow-Origin: " << (allowed == "*" ? "*" : *origin) << "\r\n";
    if (allowed != "*") out << "Vary: Origin\r\n";
    out << "Access-Control-Expose-Headers: *\r\n";
    return;
  }
}

void write_own_fields(HeadWriter& out, const Request& request, const config::ServeSettings& settings) {
  if (!request.id.empty()) out << "X-Request-Id: " << request.id << "\r\n";
  if (settings.receipts && (request.attempts > 0 || request.refusal)) write_receipt(out, request);
  if (request.head != nullptr) write_origin(out, request, settings);
  if (request.peers != nullptr) write_back_to_peer(out, request);
}

constexpr std::size_t own_room = 512;  // for what we add to a head, unless ids and names are long

}  // namespace

void append_upstream_head(std::string& out, const Request& request, const Upstream& upstream,
                          const config::ServeSettings& settings) {
  const std::string_view bytes = request.head_bytes;
  HeadWriter writer(out, bytes.size() + own_room);
  // Engines answer a trailing slash with a redirect to themselves; it is dropped here.
  const bool slash = request.path.size() > 1 && request.path.ends_with('/');
  writer << request.method << " " << upstream.base_path << request.path.substr(0, request.path.size() - (slash ? 1 : 0))
         << request.target.substr(request.path.size()) << " HTTP/1.1\r\nHost: " << upstream.authority << "\r\n";
  const std::string_view named = connection_names(*request.head, bytes);
  const std::uint32_t keys = bits({FieldName::authorization, FieldName::x_api_key});
  std::uint32_t known_to_stay = hop_by_hop | ours_upstream;
  if (!settings.forward_authorization || upstream.peer != nullptr) known_to_stay |= keys;
  if (!upstream.authorization.empty()) known_to_stay |= bits({FieldName::authorization});
  copy_fields(writer, *request.head, bytes, [&](const http::Field& field) {
    if (in(known_to_stay, field.known)) return true;
    const std::string_view name = field.name.in(bytes);
    if (named_by_connection(named, name)) return true;
    if (field.known != FieldName::other) return false;
    if (request.peers != nullptr && speaks_for_router(name)) return true;
    if (settings.trust_client_transfer) return !upstream.rank_field.empty() && equals_ignoring_case(name, rank_field);
    return addresses_engine(name);
  });
  writer << "X-Request-Id: " << request.id;
  if (request.prefills > 1) writer << "-" << static_cast<std::uint64_t>(request.prefills);
  writer << "\r\nAccept-Encoding: identity\r\n" << upstream.rank_field;
  if (upstream.peer != nullptr) write_to_peer(writer, *upstream.peer, request);
  if (!upstream.authorization.empty()) writer << "Authorization: " << upstream.authorization << "\r\n";
  if (request.chunked_up) {
    writer << "Transfer-Encoding: chunked\r\n";
  } else if (request.up_length > 0 || request.method == "POST" || request.method == "PUT" ||
             request.method == "PATCH") {
    writer << "Content-Length: " << request.up_length << "\r\n";
  }
  writer << "\r\n";
}

void append_own_fields(std::string& out, const Request& request, const config::ServeSettings& settings) {
  HeadWriter writer(out, own_room);
  write_own_fields(writer, request, settings);
}

void append_answer_head(std::string& out, const http::Head& head, std::string_view head_bytes, const Request& request,
                        const config::ServeSettings& settings, const AnswerStyle& style) {
  HeadWriter writer(out, head.size + own_room);
  writer << (request.http10 ? "HTTP/1.0 " : "HTTP/1.1 ") << static_cast<std::uint64_t>(head.status) << " "
         << (head.reason.size > 0 ? head.reason.in(head_bytes) : http::reason_phrase(head.status)) << "\r\n";
  const std::string_view named = connection_names(head, head_bytes);
  std::uint32_t known_to_stay = hop_by_hop | ours_downstream;
  if (style.event_stream) known_to_stay |= bits({FieldName::cache_control, FieldName::x_accel_buffering});
  const bool at_peer = request.peers != nullptr && request.peers->there.open();
  copy_fields(writer, head, head_bytes, [&](const http::Field& field) {
    if (in(known_to_stay, field.known)) return true;
    const std::string_view name = field.name.in(head_bytes);
    return named_by_connection(named, name) || (field.known == FieldName::other && says_what_is_ours(name, at_peer));
  });
  if (style.event_stream) writer << "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
  write_own_fields(writer, request, settings);
  if (style.framing == Framing::length) {
    writer << "Content-Length: " << style.length << "\r\n";
  } else if (style.framing == Framing::chunked) {
    writer << "Transfer-Encoding: chunked\r\n";
  }
  if (!style.keep_alive) {
    writer << "Connection: close\r\n";
  } else if (request.http10) {
    writer << "Connection: keep-alive\r\n";
  }
  writer << "\r\n";
}

}  // namespace evenkeel::gateway
