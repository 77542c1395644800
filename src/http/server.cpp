#include "http/server.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::http {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return status < 300 ? "OK" : status < 400 ? "Redirect" : "Error";
  }
}

namespace {
std::string head_text(int status, std::string_view content_type, const Fields& fields, bool keep_alive) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
  if (!content_type.empty()) fmt::format_to(std::back_inserter(out), "Content-Type: {}\r\n", content_type);
  for (const auto& [name, value] : fields) fmt::format_to(std::back_inserter(out), "{}: {}\r\n", name, value);
  if (!keep_alive) out += "Connection: close\r\n";
  return out;
}
}  // namespace

Task<bool> Responder::put(std::string bytes) { co_return co_await stream_.write_all(bytes) == IoStatus::ok; }

Task<bool> Responder::send(int status, std::string_view content_type, std::string_view body, Fields fields) {
  started_ = true;
  std::string out = head_text(status, content_type, fields, keep_alive_);
  if (status != 204) fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", body.size());
  out += "\r\n";
  if (!head_only_) out += body;
  return put(std::move(out));
}

Task<bool> Responder::begin_stream(int status, std::string_view content_type, Fields fields) {
  started_ = true;
  if (!chunked_) keep_alive_ = false;
  std::string out = head_text(status, content_type, fields, keep_alive_);
  if (chunked_) out += "Transfer-Encoding: chunked\r\n";
  out += "\r\n";
  return put(std::move(out));
}

Task<bool> Responder::write(std::string_view bytes) {
  if (client_gone() && stream_.broken()) return put({});
  return put(chunked_ ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : std::string(bytes));
}

Task<bool> Responder::end_stream() { return put(chunked_ ? "0\r\n\r\n" : ""); }

void Responder::abort() {
  keep_alive_ = false;
  stream_.abort();
}

Result<std::unique_ptr<Server>> Server::open(EventLoop& loop, const Address& at, Handler handler, ServerLimits limits,
                                             ListenOptions options) {
  auto server = std::make_unique<Server>();
  server->shared_ = std::make_shared<Shared>(Shared{std::move(handler), limits});
  const auto shared = server->shared_;
  auto listener = Listener::open(
      loop, at,
      [&loop, shared](Stream stream, const Address& peer) {
        if (shared->connections >= shared->limits.connections) return;  // closes it
        loop.spawn(serve, shared, std::move(stream), peer);
      },
      options);
  if (!listener) return tl::unexpected(listener.error());
  server->listener_ = std::move(*listener);
  return server;
}

namespace {

enum class ReadOutcome : std::uint8_t { request, closed, refused };

/// The state of reading requests off one connection: bytes behind a request begin the next.
struct RequestReader {
  Fiber& fiber;
  Stream& stream;
  const ServerLimits& limits;
  MessageParser parser{MessageParser::Direction::request, limits.head};
  std::string buffer{};
  int refusal = 0;
  std::string why{};

  Task<bool> fill() {
    const auto scratch = scratch_buffer();
    const IoResult got = co_await stream.read_some(scratch);
    if (got.status == IoStatus::ok) buffer.append(scratch.data(), got.bytes);
    co_return got.status == IoStatus::ok;
  }

  ReadOutcome refuse(int status, std::string_view words) {
    refusal = status;
    why = words;
    return ReadOutcome::refused;
  }

  Task<ReadOutcome> read_head() {
    fiber.set_deadline(fiber.loop().now() + limits.idle);
    bool begun = false;
    while (true) {
      const ParseStatus status = parser.parse_head(buffer);
      if (status == ParseStatus::done) co_return ReadOutcome::request;
      if (status == ParseStatus::malformed) co_return refuse(400, parser.complaint());
      if (status == ParseStatus::too_large) co_return refuse(431, parser.complaint());
      if (!begun && !buffer.empty()) {
        begun = true;
        fiber.set_deadline(fiber.loop().now() + limits.request);
      }
      if (!co_await fill()) co_return ReadOutcome::closed;
    }
  }

  Task<ReadOutcome> read_body(ServerRequest& request) {
    const Head& head = parser.head();
    buffer.erase(0, head.size);
    if (head.content_length > limits.body) co_return refuse(413, "the body is too large");
    const auto expect = request.field("Expect");
    if (expect && head.body != BodyKind::none) {
      if (co_await stream.write_all("HTTP/1.1 100 Continue\r\n\r\n") != IoStatus::ok) co_return ReadOutcome::closed;
    }
    if (head.body == BodyKind::length) {
      while (buffer.size() < head.content_length) {
        if (!co_await fill()) co_return ReadOutcome::closed;
      }
      request.body.assign(buffer, 0, head.content_length);
      buffer.erase(0, head.content_length);
    }
    std::vector<std::string_view> spans;
    while (head.body == BodyKind::chunked) {
      spans.clear();
      const auto chunks = parser.decode_chunks(buffer, spans);
      for (const auto span : spans) request.body += span;
      if (chunks.status == ParseStatus::malformed) co_return refuse(400, parser.complaint());
      if (request.body.size() > limits.body) co_return refuse(413, "the body is too large");
      buffer.erase(0, chunks.consumed);
      if (chunks.status == ParseStatus::done) break;
      if (!co_await fill()) co_return ReadOutcome::closed;
    }
    co_return ReadOutcome::request;
  }
};

}  // namespace

Task<void> Server::serve(Fiber& fiber, std::shared_ptr<Shared> shared, Stream stream, Address peer) {
  struct Counted {
    std::size_t& count;
    explicit Counted(std::size_t& c) : count(++c) {}
    ~Counted() { --count; }
  } counted(shared->connections);
  stream.bind(&fiber);
  RequestReader reader{fiber, stream, shared->limits};
  const std::string peer_text = peer.text();
  while (stream.is_open()) {
    ReadOutcome outcome = co_await reader.read_head();
    ServerRequest request;
    bool keep_alive = false;
    if (outcome == ReadOutcome::request) {
      const Head& head = reader.parser.head();
      request.head_bytes.assign(reader.buffer, 0, head.size);
      request.head = &head;
      request.method = head.method.in(request.head_bytes);
      const auto target = head.target.in(request.head_bytes);
      const auto mark = target.find('?');
      request.path = target.substr(0, mark);
      if (mark != std::string_view::npos) request.query = target.substr(mark + 1);
      request.peer = peer_text;
      keep_alive = head.keep_alive;
      outcome = co_await reader.read_body(request);
    }
    if (outcome == ReadOutcome::closed) break;
    fiber.clear_deadline();
    Responder responder(fiber, stream, keep_alive && outcome == ReadOutcome::request, request.method == "HEAD",
                        outcome != ReadOutcome::request || reader.parser.head().minor == 1);
    if (outcome == ReadOutcome::refused) {
      std::string body = "{\"error\":{\"message\":";
      append_json_string(body, reader.why);
      body += ",\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}";
      (void)co_await responder.send(reader.refusal, "application/json", body);
      break;
    }
    co_await shared->handler(fiber, request, responder);
    if (!responder.keep_alive() || !stream.is_open()) break;
    reader.parser.next();
  }
  stream.finish_sending();
}

}  // namespace evenkeel::http
