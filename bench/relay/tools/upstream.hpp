// Fake engines on consecutive loopback ports, one thread for all: fixed unary answers, paced or flat-out SSE
// streams, and the probe pages of a vLLM server, so that a router finds nothing missing.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "message_reader.hpp"
#include "socket.hpp"
#include "wire.hpp"

namespace relay_bench {

// Something that epoll wakes.
struct Handler {
  virtual ~Handler() = default;
  virtual void on_ready(std::uint32_t events) = 0;
};

class Upstream;
class Connection;

// One engine: its listener and what its /metrics page tells.
struct Engine : Handler {
  Engine(Upstream& upstream_, Fd listener_, double phase_)
      : upstream(upstream_), listener(std::move(listener_)), phase(phase_) {}
  void on_ready(std::uint32_t events) override;

  Upstream& upstream;
  Fd listener;
  double phase;  // of its steps, as a share of the interval: engines do not step together
  std::uint64_t running = 0;
  std::uint64_t finished = 0;
};

class Upstream {
 public:
  // Listens on `count` consecutive ports from `base_port`, or from the first free run of them when it is 0.
  Upstream(std::uint16_t base_port, std::uint16_t count);
  std::uint16_t base_port() const { return base_port_; }
  // Serves until now_ns() reaches `end_ns`.
  void run(std::uint64_t end_ns);

  // For the handlers.
  Poller& poller() { return poller_; }
  Connection& new_connection(Engine& engine, Fd fd);
  void give_back(Connection& connection) { spare_.push_back(&connection); }
  // Wakes the connection's stream at `due_ns`; ignored if its serial has moved on by then.
  void schedule(std::uint64_t due_ns, Connection& connection);
  std::span<char> receive_buffer() { return receive_buffer_; }
  // The event template as one chunk, stamped with the present time; valid until the next call.
  std::string_view stamped_chunk();

 private:
  struct Due {
    std::uint64_t at_ns;
    std::uint64_t serial;
    Connection* connection;
    bool operator>(const Due& other) const { return at_ns > other.at_ns; }
  };

  bool listen_from(std::uint16_t base_port, std::uint16_t count);
  void run_due_streams();
  std::uint64_t time_to_next_due() const;

  Poller poller_;
  std::uint16_t base_port_ = 0;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::deque<Connection> connections_;
  std::vector<Connection*> spare_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<char> receive_buffer_;
  std::string chunk_;
  std::size_t chunk_stamp_at_ = 0;
};

// One client connection: reads a request, answers it, reads the next.
class Connection : public Handler {
 public:
  explicit Connection(Upstream& upstream) : upstream_(upstream) {}
  void open(Engine& engine, Fd fd);
  void on_ready(std::uint32_t events) override;
  // The next event of the stream is due.
  void on_due(std::uint64_t due_ns);
  std::uint64_t serial() const { return serial_; }

 private:
  void receive();
  void take(std::string_view bytes);
  void answer();
  void answer_page(std::string_view path);
  void begin_stream();
  void end_request();
  // Sends what it can and keeps the rest for EPOLLOUT.
  void write(std::string_view bytes);
  void flush();
  void shut();

  Upstream& upstream_;
  Engine* engine_ = nullptr;
  Fd fd_;
  MessageReader reader_;
  std::string body_front_;  // the first bytes of the body, enough for the fields that are read
  std::string unsent_;
  std::uint64_t serial_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t events_left_ = 0;
  std::uint64_t interval_ns_ = 0;
  bool streaming_ = false;
};

}  // namespace relay_bench
