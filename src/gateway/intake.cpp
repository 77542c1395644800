#include "gateway/intake.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "gateway/hash_text.hpp"
#include "gateway/prompt_key.hpp"
#include "gateway/prompt_prefix.hpp"
#include "gateway/told_hits.hpp"

namespace evenkeel::gateway {

using http::BodyKind;
using http::FieldName;
using http::ParseStatus;

namespace {
constexpr std::uint64_t media_tokens = 1024;  // of one image or sound, until something better is known

void make_id(Random& random, std::string& id) {
  static constexpr auto pairs = [] {
    std::array<char, 512> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = "0123456789abcdef"[i % 2 == 0 ? i / 32 : i / 2 % 16];
    return table;
  }();
  id.resize(24);
  std::uint64_t bits = random.next();
  for (std::size_t i = 0; i < id.size(); i += 2) {
    if (i == 16) bits = random.next();
    std::memcpy(&id[i], &pairs[2 * (bits & 255U)], 2);
    bits >>= 8U;
  }
}

/// Makes the request's views show the head at the start of `bytes`, which may have moved.
void point_into(Request& request, std::string_view bytes) {
  const http::Head& head = *request.head;
  request.head_bytes = bytes.substr(0, head.size);
  request.method = head.method.in(request.head_bytes);
  request.target = head.target.in(request.head_bytes);
  request.path = request.target.substr(0, request.target.find('?'));
}

std::string list_models(const FleetMap& fleet) {
  std::vector<std::string_view> names;
  for (const auto& [name, model] : fleet.names) names.push_back(name);
  std::sort(names.begin(), names.end());
  const bool cut = names.size() > 20;
  if (cut) names.resize(20);
  return names.empty() ? "none yet" : fmt::format("{}{}", fmt::join(names, ", "), cut ? ", ..." : "");
}
}  // namespace

Intake::Status Intake::refuse(int status, std::string_view code, std::string message, bool close) {
  error_.status = status;
  error_.type = status >= 500 ? "server_error" : "invalid_request_error";
  error_.code = code;
  error_.message = std::move(message);
  error_.param = {};
  must_close_ = must_close_ || close;
  return Status::refused;
}

http::Task<bool> Intake::fill() {
  const auto scratch = http::scratch_buffer();
  const auto got = co_await client_.stream.read_some(scratch);
  if (got.status != http::IoStatus::ok) co_return false;
  client_.in.append(scratch.data(), got.bytes);
  co_return true;
}

Intake::Status Intake::body_missing() {
  if (client_.gone() || !client_.fiber.deadline_passed()) return Status::closed;
  return refuse(408, "body_timeout", "The request body did not arrive in time.", true);
}

http::Task<Intake::Status> Intake::read_head(Request& request) {
  const auto& limits = shard_.shared.settings.limits;
  http::Fiber& fiber = client_.fiber;
  fiber.set_deadline(deadline_after(fiber.loop().now(), limits.idle));
  bool begun = false;
  while (true) {
    if (!client_.in.empty()) {
      const ParseStatus status = parser_.parse_head(client_.in);
      if (status == ParseStatus::done) break;
      if (status == ParseStatus::malformed) co_return refuse(400, "malformed_request", parser_.complaint(), true);
      if (status == ParseStatus::too_large) co_return refuse(431, "head_too_large", parser_.complaint(), true);
      if (!begun) fiber.set_deadline(deadline_after(fiber.loop().now(), limits.head_timeout));
      begun = true;
    }
    const auto scratch = http::scratch_buffer();
    auto got = client_.stream.try_read(scratch);
    if (got.status == http::IoStatus::would_block) {
      if (shard_.draining && client_.in.empty()) co_return Status::closed;
      if (fiber.deadline_passed()) {
        if (!begun) co_return Status::closed;
        co_return refuse(408, "head_timeout", "The request head did not arrive in time.", true);
      }
      co_await fiber.wait();
      continue;
    }
    if (got.status != http::IoStatus::ok) co_return Status::closed;
    if (client_.in.empty()) {
      client_.in = shard_.spares.string();
      shard_.spares.lend_fields(parser_);
    }
    client_.in.append(scratch.data(), got.bytes);
  }
  const http::Head& head = parser_.head();
  request.arrived = fiber.loop().now();
  request.head = &head;
  client_.in_use = head.size;
  point_into(request, client_.in);
  request.http10 = head.minor == 0;
  request.head_only = request.method == "HEAD";
  request.endpoint = find_endpoint(request.path, shard_.shared.peers != nullptr);
  client_.keep_alive = head.keep_alive && !shard_.draining;
  identify_client(request);
  if (shard_.shared.peers != nullptr) identify_peer(request);
  co_return Status::request;
}

bool Intake::wants_json(const Request& request) const {
  const Route route = request.endpoint.route;
  return request.method == "POST" && (route == Route::model_body || route == Route::other || route == Route::unknown);
}

std::optional<Intake::Status> Intake::body_at_hand(Request& request) {
  const http::Head& head = *request.head;
  const auto& limits = shard_.shared.settings.limits;
  if (head.upgrade || head.has(FieldName::upgrade)) {
    return refuse(501, "upgrade", "Protocol upgrades are not supported.", true);
  }
  if (head.body == BodyKind::none) return wants_json(request) ? skim_whole(request) : Status::request;
  if (head.content_length > static_cast<std::uint64_t>(limits.body.value())) {
    return refuse(413, "body_too_large",
                  fmt::format("The request body is over the limit of {} bytes.", limits.body.value()), true);
  }
  if (const auto coding = head.find(request.head_bytes, FieldName::content_encoding); coding && wants_json(request)) {
    if (shard_.fleet->served.size() != 1 && !equals_ignoring_case(trim(*coding), "identity")) {
      return refuse(415, "encoded_body",
                    fmt::format("The body is {}-encoded, so the model in it cannot be read; send it plain.", *coding),
                    true);
    }
  }
  const std::size_t whole = head.size + head.content_length;
  const bool at_hand = head.body == BodyKind::length && !head.has(FieldName::expect) && client_.in.size() >= whole &&
                       head.content_length <= static_cast<std::uint64_t>(limits.kept_body.value());
  if (!at_hand) return std::nullopt;
  return take_whole(request, whole);
}

http::Task<Intake::Status> Intake::read_body(Request& request) {
  const http::Head& head = *request.head;
  const auto& limits = shard_.shared.settings.limits;
  if (const auto expect = head.find(request.head_bytes, FieldName::expect); expect && !request.http10) {
    if (!equals_ignoring_case(trim(*expect), "100-continue")) {
      co_return refuse(417, "expectation", "Only Expect: 100-continue is understood.", true);
    }
    if (client_.in.size() == head.size) {  // else it did not wait
      const http::IoStatus told = co_await client_.stream.write_all("HTTP/1.1 100 Continue\r\n\r\n");
      if (told != http::IoStatus::ok) co_return Status::closed;
    }
  }
  client_.fiber.set_deadline(deadline_after(client_.fiber.loop().now(), limits.body_timeout));
  if (head.body == BodyKind::chunked) co_return co_await read_chunked(request);
  if (head.content_length > static_cast<std::uint64_t>(limits.kept_body.value()))
    co_return co_await begin_stream(request, false);
  const std::size_t whole = head.size + head.content_length;
  while (client_.in.size() < whole) {
    const bool more = co_await fill();
    point_into(request, client_.in);
    if (!more) co_return body_missing();
    client_.fiber.set_deadline(deadline_after(client_.fiber.loop().now(), limits.body_timeout));
  }
  co_return take_whole(request, whole);
}

/// The whole of a body that is kept, which ends in the connection's buffer at `end`.
Intake::Status Intake::take_whole(Request& request, std::size_t end) {
  const std::size_t begin = request.head->size;
  client_.in_use = end;
  request.body = shard_.spares.string();
  request.body.assign(client_.in, begin, end - begin);
  request.body_bytes = request.body.size();
  return wants_json(request) ? skim_whole(request) : Status::request;
}

http::Task<Intake::Status> Intake::read_chunked(Request& request) {
  // The head is copied out, so that chunks can be taken from the buffer as they come.
  const http::Head& head = *request.head;
  head_copy_.assign(client_.in, 0, head.size);
  client_.in.erase(0, head.size);
  client_.in_use = 0;
  point_into(request, head_copy_);
  const auto& limits = shard_.shared.settings.limits;
  std::vector<std::string_view> spans;
  while (true) {
    if (!client_.in.empty()) {
      spans.clear();
      const auto chunks = parser_.decode_chunks(client_.in, spans);
      for (const auto span : spans) request.body += span;
      client_.in.erase(0, chunks.consumed);
      if (chunks.status == ParseStatus::malformed) co_return refuse(400, "malformed_chunks", parser_.complaint(), true);
      if (chunks.status == ParseStatus::done) break;
      if (request.body.size() > static_cast<std::size_t>(limits.kept_body.value()))
        co_return co_await begin_stream(request, true);
    }
    const bool more = co_await fill();
    if (!more) co_return body_missing();
    client_.fiber.set_deadline(deadline_after(client_.fiber.loop().now(), limits.body_timeout));
  }
  request.body_bytes = request.body.size();
  if (request.body.size() > static_cast<std::size_t>(limits.body.value()))
    co_return refuse(413, "body_too_large", "The request body is too large.");
  co_return wants_json(request) ? skim_whole(request) : Status::request;
}

http::Task<Intake::Status> Intake::begin_stream(Request& request, bool chunked) {
  // Too large to keep. The model has to stand in the first part, unless there is only one.
  const auto& limits = shard_.shared.settings.limits;
  const http::Head& head = *request.head;
  const bool json = wants_json(request) && !head.find(request.head_bytes, FieldName::content_encoding);
  request.streamed = true;
  request.chunked_up = chunked;
  request.up_length = head.content_length;
  stream_.emplace(!shard_.shared.settings.trust_client_transfer, json, parser_, chunked, head.content_length,
                  static_cast<std::uint64_t>(limits.body.value()));
  std::string first = std::move(request.body);  // decoded already, if chunked
  request.body.clear();
  if (!chunked) {
    head_copy_.assign(client_.in, 0, head.size);
    client_.in.erase(0, head.size);
    client_.in_use = 0;
    point_into(request, head_copy_);
  }
  const auto enough = static_cast<std::size_t>(limits.kept_body.value());
  BodyStream::Status status = BodyStream::Status::more;
  if (!first.empty()) {
    status = stream_->take_decoded(first);
    request.body += stream_->ready();
    request.body_bytes += first.size();
  }
  while (status == BodyStream::Status::more) {
    if (!client_.in.empty()) {
      std::size_t consumed = 0;
      status = stream_->take(client_.in, consumed);
      request.body += stream_->ready();
      request.body_bytes += consumed;
      client_.in.erase(0, consumed);
      if (status != BodyStream::Status::more) break;
    }
    // The first key is the model with every client there is; without JSON there is nothing to look for.
    if (!json || request.body.size() >= enough || stream_->skim().facts().has_model) break;
    const bool more = co_await fill();
    if (!more) co_return body_missing();
    client_.fiber.set_deadline(deadline_after(client_.fiber.loop().now(), limits.body_timeout));
  }
  if (status == BodyStream::Status::malformed) co_return refuse(400, "malformed_body", stream_->complaint(), true);
  if (status == BodyStream::Status::too_large)
    co_return refuse(413, "body_too_large", "The request body is too large.", true);
  if (status == BodyStream::Status::more) client_.body = &*stream_;
  request.facts = stream_->skim().facts();
  co_return Status::request;
}

Intake::Status Intake::skim_whole(Request& request) {
  if (request.head->has(FieldName::content_encoding)) return Status::request;
  if (request.endpoint.route == Route::other && request.body.empty()) return Status::request;
  BodySkim skim(!shard_.shared.settings.trust_client_transfer);
  if (!skim.feed(request.body) || !skim.finish()) {
    if (request.endpoint.route == Route::other) return Status::request;  // not known to be JSON at all
    return refuse(400, "invalid_json", fmt::format("The request body is not valid JSON: {}.", skim.complaint()));
  }
  if (!skim.blanks().empty()) {
    blank_out(request.body, 0, skim.blanks());
    shard_.counters.transfer_edits.add(skim.blanks().size());
  }
  request.facts = skim.take_facts();
  return Status::request;
}

Intake::Status Intake::understand(Request& request) {
  find_affinity(request);
  request.model_label = "unknown";
  if (!request.streamed) request.up_length = request.body.size();
  const Route route = request.endpoint.route;
  if (route != Route::model_body && route != Route::other && route != Route::unknown && route != Route::multipart)
    return Status::request;
  const FleetMap& fleet = *shard_.fleet;
  const BodySkim::Facts& facts = request.facts;
  if (facts.model_wrong_type) {
    refuse(400, "invalid_type", "\"model\" must be a string.");
    error_.param = "model";
    return Status::refused;
  }
  const ModelName* name = nullptr;
  if (facts.has_model && !facts.model.empty()) {
    name = fleet.find(facts.model);
    if (name == nullptr && fleet.undiscovered) {
      return refuse(
          503, "no_worker",
          fmt::format("A worker has not been reached yet, and the model \"{}\" is served by no other.", facts.model));
    }
    if (name == nullptr) {
      refuse(404, "model_not_found",
             fmt::format("The model \"{}\" does not exist. Served here: {}.", facts.model, list_models(fleet)));
      error_.param = "model";
      return Status::refused;
    }
  } else if (fleet.served.size() == 1 && route != Route::other) {
    name = &fleet.served.front();
  } else if (route == Route::model_body) {
    if (fleet.served.empty()) return refuse(503, "no_worker", "No worker has been reached yet.");
    refuse(404, "model_not_found", fmt::format("The request names no model. Served here: {}.", list_models(fleet)));
    error_.param = "model";
    return Status::refused;
  }
  if (name == nullptr) return Status::request;  // the caller knows what else to do
  request.model = name->id;
  request.model_label = name->served;
  request.timeouts = fleet.timeouts.at(name->id.value);
  request.never_shed = name->never_shed;
  if (const BodySkim::Range& text = facts.text; !request.streamed && text.begin < text.end) {
    const std::string_view value = std::string_view(request.body).substr(text.begin, text.end - text.begin);
    request.prompt_key = prompt_key(value, shard_.shared.prompt_salt);
    if (facts.prompt_ids > 0 && facts.salt == 0 && !facts.odd_salt && fleet.tells_kv &&
        shard_.shared.dispatcher.wants_hits()) {
      request.told_hits = told_hits(fleet, request.model, value);
    }
  }
  estimate(request);
  if (fleet.prefix_caches && !request.streamed) note_prefix(request);
  if (name->alias && facts.has_model) apply_alias(request, *name);  // moves what the facts tell the places of
  return Status::request;
}

void Intake::note_prefix(Request& request) {
  request.prefix = shard_.spares.chain();
  const auto most = static_cast<std::size_t>(shard_.shared.settings.prefix.bytes.value());
  if (prompt_prefix(request.facts, request.body, {request.model, shard_.shared.prompt_salt}, request.prompt_estimate,
                    most, *request.prefix)) {
    return;
  }
  shard_.spares.give(request.prefix);
}

void Intake::apply_alias(Request& request, const ModelName& name) {
  const BodySkim::Range& value = request.facts.model_value;
  if (value.end > request.body.size()) return;
  std::string served;
  append_json_string(served, name.served);
  request.body.replace(value.begin, value.end - value.begin, served);
  request.up_length += served.size();
  request.up_length -= value.end - value.begin;
  shard_.counters.alias_edits.add();
}

void Intake::estimate(Request& request) const {
  const BodySkim::Facts& facts = request.facts;
  std::uint64_t tokens = facts.prompt_ids;
  if (tokens == 0) {
    std::uint64_t bytes = facts.text_bytes;
    if (bytes == 0 && request.streamed) bytes = request.up_length;  // the prompt is still passing
    tokens = static_cast<std::uint64_t>(static_cast<double>(bytes) * shard_.tokens_per_byte(request.model));
  }
  tokens += facts.media_parts * media_tokens;
  request.prompt_estimate = Tokens(static_cast<std::int64_t>(std::max<std::uint64_t>(tokens, 1)));
}

void Intake::identify_client(Request& request) {
  const auto& settings = shard_.shared.settings;
  const auto given = request.head->find(request.head_bytes, FieldName::x_request_id);
  // A header's value may not carry what a log or an engine could trip over.
  const bool usable = given && !given->empty() && given->size() <= 128 &&
                      std::all_of(given->begin(), given->end(), [](char c) { return c > ' ' && c < 127; });
  request.id = shard_.spares.short_string();
  if (usable) {
    request.id = *given;
  } else {
    make_id(shard_.random, request.id);
  }
  for (const std::string& name : settings.client_key_headers) {
    const auto value = request.head->find(request.head_bytes, name);
    if (!value || value->empty()) continue;
    request.client = ClientKey{hash_text(*value, 1)};
    request.client_label =
        fmt::format("{}:{:08x}", name, static_cast<std::uint32_t>(request.client.value));  // never the key
    break;
  }
  if (request.client_label.empty()) {
    request.client_label = client_.host;
    if (!host_key_) host_key_ = ClientKey{hash_text(client_.host, 1)};
    request.client = *host_key_;
  }
}

void Intake::identify_peer(Request& request) {
  PeerBoard& board = *shard_.shared.peers;
  request.peers = std::make_unique<RequestPeers>(board, shard_.loop);
  RequestPeers& peers = *request.peers;
  peers.from = board.identify(client_.host, *request.head, request.head_bytes);
  if (!peers.from) return;
  peers.from_evenkeel = board.is_evenkeel(*peers.from);
  peers.ahead = request.head->find(request.head_bytes, peer_field::ahead) == "1";
  client_.fin_cancels = true;  // a router that closes has nobody left to answer
}

void Intake::find_affinity(Request& request) const {
  for (const std::string& name : shard_.shared.settings.affinity_headers) {
    const auto value = request.head->find(request.head_bytes, name);
    if (!value || value->empty()) continue;
    request.affinity_key = hash_text(*value, 2) | 1U;
    return;
  }
  if (!request.facts.session.empty()) request.affinity_key = hash_text(request.facts.session, 2) | 1U;
}

void Intake::discard() {
  client_.in.erase(0, client_.in_use);
  client_.in_use = 0;
  if (client_.in.empty()) {
    shard_.spares.give(client_.in);
    shard_.spares.take_fields(parser_);
  }
  client_.body = nullptr;
  stream_.reset();
  must_close_ = false;
}

}  // namespace evenkeel::gateway
