#include <cmath>
#include <deque>
#include <random>

#include <fmt/format.h>

#include "load.hpp"
#include "message_reader.hpp"
#include "socket.hpp"
#include "wire.hpp"

namespace relay_bench {
namespace {

constexpr std::uint64_t look_every_ns = 10'000'000;

// A keep-alive connection with at most one request on it.
struct Client {
  Fd fd;
  MessageReader reader;
  std::string_view unsent;
  std::size_t body_seen = 0;
  std::uint64_t due_ns = 0;  // when the request should have left
  bool busy = false;
  bool waits_for_room = false;
};

class UnaryRun {
 public:
  UnaryRun(const UnaryPlan& plan, const Bounds& bounds)
      : plan_(plan),
        bounds_(bounds),
        request_(request_bytes(plan.upload_bytes > 0 ? upload_request_body(plan.upload_bytes) : unary_request_body())),
        window_(plan.warmup_ns, plan.requests > 0 ? 0 : plan.length_ns),
        latency_(static_cast<std::size_t>(plan.rate_per_s * static_cast<double>(plan.length_ns) / 1e9 * 1.5) + 1000),
        clients_(plan.connections),
        receive_buffer_(64 * 1024) {}

  void run() {
    connect_all();
    const std::uint64_t start = now_ns();
    window_.start(start);
    next_arrival_ns_ = static_cast<double>(start);
    if (plan_.requests > 0) window_.look(start);
    if (!open_loop()) {
      for (Client& client : clients_) begin(client, now_ns());
    }
    while (!finished()) {
      turn();
      if (now_ns() > start + bounds_.limit_ns) fail("the requests did not end in time");
    }
    if (plan_.requests > 0) window_.look(now_ns());
    print();
  }

 private:
  bool open_loop() const { return plan_.rate_per_s > 0; }

  bool finished() const {
    if (plan_.requests > 0) return done_ == plan_.requests;
    return window_.over() && in_flight_ == 0;
  }

  bool may_begin() const { return plan_.requests > 0 ? begun_ < plan_.requests : !window_.over(); }

  void connect_all() {
    for (Client& client : clients_) {
      client.fd = connect_to(plan_.port);
      poller_.add(client.fd, EPOLLIN, &client);
      if (open_loop()) idle_.push_back(&client);
    }
  }

  void turn() {
    const std::uint64_t now = now_ns();
    if (plan_.requests == 0) window_.look(now);
    std::uint64_t wait_ns = look_every_ns;
    if (open_loop() && !window_.over()) wait_ns = std::min(wait_ns, send_due(now));
    for (const epoll_event& event : poller_.wait(wait_ns)) {
      Client& client = *static_cast<Client*>(event.data.ptr);
      if (client.waits_for_room) send(client);
      if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) receive(client);
    }
  }

  // Begins what is due, as far as connections are idle; returns the time to the next arrival.
  std::uint64_t send_due(std::uint64_t now) {
    while (next_arrival_ns_ <= static_cast<double>(now)) {
      overdue_.push_back(static_cast<std::uint64_t>(next_arrival_ns_));
      next_arrival_ns_ += -std::log1p(-uniform_(random_)) * 1e9 / plan_.rate_per_s;
    }
    while (!overdue_.empty() && !idle_.empty()) begin_overdue();
    return static_cast<std::uint64_t>(next_arrival_ns_) - now + 1;
  }

  void begin_overdue() {
    Client& client = *idle_.back();
    idle_.pop_back();
    begin(client, overdue_.front());
    overdue_.pop_front();
  }

  void begin(Client& client, std::uint64_t due_ns) {
    if (!may_begin()) return;
    ++begun_;
    ++in_flight_;
    client.busy = true;
    client.due_ns = due_ns;
    client.unsent = request_;
    send(client);
  }

  void send(Client& client) {
    const Io result = send_some(client.fd, client.unsent);
    if (result == Io::closed) fail("connection closed while a request was being sent");
    const bool blocked = result == Io::would_block;
    if (blocked != client.waits_for_room) {
      poller_.change(client.fd, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, &client);
      client.waits_for_room = blocked;
    }
  }

  void receive(Client& client) {
    std::size_t received = 0;
    const Io result = receive_some(client.fd, receive_buffer_, received);
    if (result == Io::would_block) return;
    if (result == Io::closed) fail(client.busy ? "connection closed before the answer" : "idle connection closed");
    if (!client.busy) fail("bytes after the answer");
    std::string_view bytes(receive_buffer_.data(), received);
    while (!bytes.empty() && client.reader.state() != MessageReader::State::complete) {
      const MessageReader::Step step = client.reader.read(bytes);
      bytes.remove_prefix(step.consumed);
      check_body(client, step.body);
      if (client.reader.state() == MessageReader::State::broken) fail(std::string(client.reader.error()));
    }
    if (!bytes.empty()) fail("bytes after the answer");
    if (client.reader.state() == MessageReader::State::complete) complete(client);
  }

  void check_body(Client& client, std::string_view body) {
    if (unary_answer().compare(client.body_seen, body.size(), body) != 0) {
      fail(fmt::format("answer differs from the upstream's: {} ... {}", client.reader.head(), body.substr(0, 400)));
    }
    client.body_seen += body.size();
  }

  void complete(Client& client) {
    const std::string_view head = client.reader.head();
    if (!head.starts_with("HTTP/1.1 200")) fail("status: " + std::string(head));
    if (client.body_seen != unary_answer().size()) fail(fmt::format("{} body bytes", client.body_seen));
    if (!client.unsent.empty()) fail("answered before the request was sent");
    ++done_;
    --in_flight_;
    if (window_.open()) {
      ++measured_;
      if (open_loop()) latency_.add(now_ns() - client.due_ns);
    }
    client.busy = false;
    client.reader.reset();
    client.body_seen = 0;
    if (!open_loop()) return begin(client, now_ns());
    idle_.push_back(&client);
    if (!overdue_.empty()) begin_overdue();
  }

  void print() {
    fmt::print("{{\"requests\":{},\"seconds\":{:.6f}", measured_, window_.seconds());
    if (open_loop()) {
      fmt::print(",\"p50_us\":{:.1f},\"p99_us\":{:.1f}", latency_.quantile_us(0.5), latency_.quantile_us(0.99));
    }
    fmt::print("}}\n");
  }

  const UnaryPlan& plan_;
  const Bounds& bounds_;
  const std::string request_;
  Window window_;
  Samples latency_;
  Poller poller_;
  std::vector<Client> clients_;
  std::vector<char> receive_buffer_;
  std::vector<Client*> idle_;
  std::deque<std::uint64_t> overdue_;  // due times of arrivals that found no idle connection
  double next_arrival_ns_ = 0;
  std::mt19937_64 random_{1};
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};
  std::uint64_t begun_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t measured_ = 0;
};

}  // namespace

void run_unary(const UnaryPlan& plan, const Bounds& bounds) { UnaryRun(plan, bounds).run(); }

}  // namespace relay_bench
