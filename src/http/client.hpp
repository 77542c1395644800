#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/connection_pool.hpp"
#include "http/message.hpp"
#include "http/stream.hpp"

namespace evenkeel::http {

/// A request for the simple client: probes, scrapes, load generation. The relay has its own way.
struct ClientRequest {
  std::string method = "GET";
  std::string path = "/";
  std::string host;  ///< Host header
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;  ///< sent with Content-Length if not empty or the method is POST, PUT or PATCH
};

/// How far an exchange got.
enum class ClientStatus : std::uint8_t { ok, connect_failed, timed_out, broken, malformed, too_large };
[[nodiscard]] std::string_view to_string(ClientStatus status);

/// One request and its answer over one connection. All waits end at the fiber's deadline. Usage:
/// send(), then read_head(), then next() until it gives an empty view or a failure.
class ClientExchange {
 public:
  /// Takes a connection from `pool` if one is idle (pool may be null), else connects.
  ClientExchange(Fiber& fiber, const Address& to, ConnectionPool* pool = nullptr);

  Task<ClientStatus> send(const ClientRequest& request);
  Task<ClientStatus> read_head();
  /// The next bytes of the body, de-chunked; valid until the next call. Empty with ok: the body is complete.
  Task<std::pair<ClientStatus, std::string_view>> next();

  [[nodiscard]] int status() const { return parser_.head().status; }
  [[nodiscard]] std::optional<std::string> field(std::string_view name) const;
  /// The answer came over a connection that had served before.
  [[nodiscard]] bool reused() const { return reused_; }
  /// Closes at once: the server sees its client gone.
  void close() { stream_.close(); }

 private:
  void finish();

  Fiber& fiber_;
  Address to_;
  ConnectionPool* pool_;
  Stream stream_;
  MessageParser parser_{MessageParser::Direction::response};
  std::string head_bytes_;
  std::string bytes_;  // read and not yet given out
  std::string given_;  // what next() returned last
  std::vector<std::string_view> spans_;
  std::uint64_t left_ = 0;
  bool head_request_ = false;
  bool complete_ = false;
  bool reused_ = false;
};

struct FetchResult {
  ClientStatus status = ClientStatus::ok;
  int code = 0;  ///< HTTP status if status is ok
  std::string body;
};

/// One whole exchange with a body of at most `max_body` bytes, by `deadline`.
Task<FetchResult> fetch(Fiber& fiber, Address to, ClientRequest request, Time deadline, std::size_t max_body,
                        ConnectionPool* pool = nullptr);

}  // namespace evenkeel::http
