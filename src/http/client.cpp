#include "http/client.hpp"

#include <fmt/format.h>

namespace evenkeel::http {

std::string_view to_string(ClientStatus status) {
  switch (status) {
    case ClientStatus::ok: return "ok";
    case ClientStatus::connect_failed: return "connect failed";
    case ClientStatus::timed_out: return "timed out";
    case ClientStatus::broken: return "connection broken";
    case ClientStatus::malformed: return "malformed answer";
    case ClientStatus::too_large: return "answer too large";
  }
  return "unknown";
}

namespace {
ClientStatus from_io(IoStatus status) {
  return status == IoStatus::timed_out ? ClientStatus::timed_out : ClientStatus::broken;
}

std::string encode(const ClientRequest& request) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.path, request.host);
  for (const auto& [name, value] : request.fields) fmt::format_to(std::back_inserter(out), "{}: {}\r\n", name, value);
  const bool carries = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (carries || !request.body.empty())
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", request.body.size());
  out += "\r\n";
  out += request.body;
  return out;
}
}  // namespace

ClientExchange::ClientExchange(Fiber& fiber, const Address& to, ConnectionPool* pool)
    : fiber_(fiber), to_(to), pool_(pool) {}

Task<ClientStatus> ClientExchange::send(const ClientRequest& request) {
  head_request_ = request.method == "HEAD";
  if (pool_ != nullptr) {
    if (auto idle = pool_->take(fiber_.loop().now())) {
      stream_ = std::move(*idle);
      reused_ = true;
    }
  }
  if (!stream_.is_open()) {
    stream_ = Stream::begin_connect(fiber_.loop(), to_);
    stream_.bind(&fiber_);
    const IoStatus status = co_await stream_.connected();
    if (status == IoStatus::timed_out) co_return ClientStatus::timed_out;
    if (status != IoStatus::ok) co_return ClientStatus::connect_failed;
  }
  stream_.bind(&fiber_);
  const std::string bytes = encode(request);
  const IoStatus status = co_await stream_.write_all(bytes);
  co_return status == IoStatus::ok ? ClientStatus::ok : from_io(status);
}

Task<ClientStatus> ClientExchange::read_head() {
  while (true) {
    switch (parser_.parse_head(bytes_)) {
      case ParseStatus::done: {
        if (parser_.head().status < 200) {  // an interim answer: the real one follows
          bytes_.erase(0, parser_.head().size);
          parser_.next();
          continue;
        }
        const Head& head = parser_.head();
        head_bytes_.assign(bytes_, 0, head.size);
        bytes_.erase(0, head.size);
        left_ = head.body == BodyKind::length ? head.content_length : 0;
        if (head_request_ || head.body == BodyKind::none) finish();
        co_return ClientStatus::ok;
      }
      case ParseStatus::malformed: co_return ClientStatus::malformed;
      case ParseStatus::too_large: co_return ClientStatus::too_large;
      case ParseStatus::need_more: break;
    }
    const auto scratch = scratch_buffer();
    const IoResult got = co_await stream_.read_some(scratch);
    if (got.status != IoStatus::ok) co_return from_io(got.status);
    bytes_.append(scratch.data(), got.bytes);
  }
}

Task<std::pair<ClientStatus, std::string_view>> ClientExchange::next() {
  using Given = std::pair<ClientStatus, std::string_view>;
  given_.clear();
  while (!complete_) {
    if (!bytes_.empty()) {
      switch (parser_.head().body) {
        case BodyKind::length: {
          const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes_.size()));
          given_.assign(bytes_, 0, size);
          left_ -= size;
          bytes_.erase(0, size);
          if (left_ == 0) finish();
          break;
        }
        case BodyKind::chunked: {
          spans_.clear();
          const auto chunks = parser_.decode_chunks(bytes_, spans_);
          if (chunks.status == ParseStatus::malformed) co_return Given{ClientStatus::malformed, {}};
          for (const auto span : spans_) given_ += span;
          bytes_.erase(0, chunks.consumed);
          if (chunks.status == ParseStatus::done) finish();
          break;
        }
        case BodyKind::until_close:
        case BodyKind::none: given_.swap(bytes_); break;
      }
      if (!given_.empty()) co_return Given{ClientStatus::ok, given_};
      if (complete_) break;
    }
    const auto scratch = scratch_buffer();
    const IoResult got = co_await stream_.read_some(scratch);
    if (got.status == IoStatus::end && parser_.head().body == BodyKind::until_close) {
      complete_ = true;
      stream_.close();
      break;
    }
    if (got.status != IoStatus::ok) co_return Given{from_io(got.status), {}};
    bytes_.assign(scratch.data(), got.bytes);
  }
  co_return Given{ClientStatus::ok, {}};
}

void ClientExchange::finish() {
  complete_ = true;
  if (pool_ != nullptr && parser_.head().keep_alive && bytes_.empty()) {
    pool_->give(std::move(stream_), fiber_.loop().now());
  }
  stream_.close();
}

std::optional<std::string> ClientExchange::field(std::string_view name) const {
  const auto found = parser_.head().find(head_bytes_, name);
  return found ? std::optional(std::string(*found)) : std::nullopt;
}

Task<FetchResult> fetch(Fiber& fiber, Address to, ClientRequest request, Time deadline, std::size_t max_body,
                        ConnectionPool* pool) {
  fiber.set_deadline(deadline);
  FetchResult result;
  ClientExchange exchange(fiber, to, pool);
  result.status = co_await exchange.send(request);
  if (result.status == ClientStatus::ok) result.status = co_await exchange.read_head();
  if (result.status == ClientStatus::ok) {
    result.code = exchange.status();
    while (true) {
      const auto [status, bytes] = co_await exchange.next();
      result.status = status;
      if (status != ClientStatus::ok || bytes.empty()) break;
      if (result.body.size() + bytes.size() > max_body) {
        result.status = ClientStatus::too_large;
        break;
      }
      result.body += bytes;
    }
  }
  fiber.clear_deadline();
  co_return result;
}

}  // namespace evenkeel::http
