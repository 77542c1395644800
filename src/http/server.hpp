#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/listener.hpp"
#include "http/message.hpp"

namespace evenkeel::http {

/// A whole request, for servers that answer rather than relay (admin, emulator).
struct ServerRequest {
  std::string method;
  std::string path;   ///< without the query
  std::string query;  ///< behind '?', or empty
  std::string body;
  std::string peer;  ///< address text
  std::string head_bytes;
  const Head* head = nullptr;

  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const {
    return head->find(head_bytes, name);
  }
};

using Fields = std::vector<std::pair<std::string, std::string>>;

/// Writes the one answer to a request, whole or streamed. Every call returns false once the client is gone.
class Responder {
 public:
  Responder(Fiber& fiber, Stream& stream, bool keep_alive, bool head_only, bool chunked)
      : fiber_(fiber), stream_(stream), keep_alive_(keep_alive), head_only_(head_only), chunked_(chunked) {}

  Task<bool> send(int status, std::string_view content_type, std::string_view body, Fields fields = {});
  Task<bool> begin_stream(int status, std::string_view content_type, Fields fields = {});
  Task<bool> write(std::string_view bytes);
  Task<bool> end_stream();
  /// Breaks the connection with a reset, as a dying process does.
  void abort();

  /// The client's FIN or reset has been seen. Waiting on the fiber is woken by it.
  [[nodiscard]] bool client_gone() const { return stream_.peer_closed() || !stream_.is_open(); }
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }

 private:
  Task<bool> put(std::string bytes);

  Fiber& fiber_;
  Stream& stream_;
  bool keep_alive_;
  bool head_only_;
  bool chunked_;
  bool started_ = false;
};

using Handler = std::function<Task<void>(Fiber&, const ServerRequest&, Responder&)>;

struct ServerLimits {
  HeadLimits head;
  std::size_t body = 64U << 20U;
  std::size_t connections = 65536;
  Duration idle = std::chrono::seconds(60);
  Duration request = std::chrono::seconds(60);  ///< from its first byte to its last
};

/// A small HTTP/1.1 server on one loop: parses, calls the handler, keeps alive. One fiber a connection.
class Server {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(EventLoop& loop, const Address& at, Handler handler,
                                                            ServerLimits limits = {}, ListenOptions options = {});
  [[nodiscard]] std::uint16_t port() const { return listener_->port(); }
  [[nodiscard]] std::size_t connections() const { return shared_->connections; }
  void stop_accepting() { listener_->close(); }

 private:
  struct Shared {
    Handler handler;
    ServerLimits limits;
    std::size_t connections = 0;
  };
  static Task<void> serve(Fiber& fiber, std::shared_ptr<Shared> shared, Stream stream, Address peer);

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Listener> listener_;
};

[[nodiscard]] std::string_view reason_phrase(int status);

}  // namespace evenkeel::http
