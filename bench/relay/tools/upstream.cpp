#include "upstream.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace relay_bench {
namespace {

constexpr std::size_t body_front_size = 4096;
constexpr std::size_t max_unsent = 1 << 20;
constexpr std::uint64_t idle_wait_ns = 100'000'000;
// Events sent between two looks at the sockets, so that flat-out streams do not starve new requests.
constexpr int due_batch = 128;

std::string with_head(std::string_view status, std::string_view type, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", status, type, body.size(),
                     body);
}

// The number behind `"name":` in the front of a JSON body whose layout wire.cpp wrote; 0 when absent.
std::uint64_t number_field(std::string_view body, std::string_view name) {
  const std::string key = fmt::format("\"{}\":", name);
  const std::size_t at = body.find(key);
  std::uint64_t value = 0;
  if (at != std::string_view::npos) std::from_chars(body.data() + at + key.size(), body.data() + body.size(), value);
  return value;
}

std::string metrics_page(const Engine& engine) {
  std::string page;
  const auto line = [&](std::string_view kind, std::string_view name, std::string_view labels, auto value) {
    fmt::format_to(std::back_inserter(page), "# TYPE vllm:{} {}\nvllm:{}{{{}}} {}\n", name, kind, name, labels, value);
  };
  const std::string_view model = R"(model_name="bench",engine="0")";
  line("gauge", "num_requests_running", model, engine.running);
  line("gauge", "num_requests_waiting", model, 0);
  line("gauge", "kv_cache_usage_perc", model, 0.0);
  line("counter", "num_preemptions_total", model, 0);
  line("counter", "request_success_total", model, engine.finished);
  line("gauge", "cache_config_info", R"(block_size="16",num_gpu_blocks="10000000",engine="0")", 1);
  return page;
}

// The first step of an engine after `now`.
std::uint64_t next_step(std::uint64_t now, std::uint64_t interval_ns, double phase) {
  const auto offset = static_cast<std::uint64_t>(phase * static_cast<double>(interval_ns));
  return (now - offset) / interval_ns * interval_ns + interval_ns + offset;
}

}  // namespace

void Engine::on_ready(std::uint32_t) {
  for (Fd fd = accept_from(listener); fd.get() >= 0; fd = accept_from(listener)) {
    upstream.new_connection(*this, std::move(fd));
  }
}

Upstream::Upstream(std::uint16_t base_port, std::uint16_t count) : receive_buffer_(256 * 1024) {
  chunk_ = fmt::format("{:x}\r\n{}\r\n", event_size, event_template());
  chunk_stamp_at_ = chunk_.find(event_template()) + stamp_offset();
  // Below the kernel's ephemeral ports, so that no outgoing connection sits on one of them.
  const int first = base_port != 0 ? base_port : 20'000;
  const int last = base_port != 0 ? base_port : 32'000;
  for (int base = first; base <= last; base += count) {
    if (listen_from(static_cast<std::uint16_t>(base), count)) return;
  }
  fail(fmt::format("no {} consecutive free ports from {}", count, first));
}

bool Upstream::listen_from(std::uint16_t base_port, std::uint16_t count) {
  engines_.clear();
  for (int i = 0; i < count; ++i) {
    Fd listener = try_listen(static_cast<std::uint16_t>(base_port + i));
    if (listener.get() < 0) return false;
    engines_.push_back(std::make_unique<Engine>(*this, std::move(listener), static_cast<double>(i) / count));
  }
  for (const auto& engine : engines_) poller_.add(engine->listener, EPOLLIN, engine.get());
  base_port_ = base_port;
  return true;
}

void Upstream::run(std::uint64_t end_ns) {
  while (now_ns() < end_ns) {
    for (const epoll_event& event : poller_.wait(time_to_next_due())) {
      static_cast<Handler*>(event.data.ptr)->on_ready(event.events);
    }
    run_due_streams();
  }
}

std::uint64_t Upstream::time_to_next_due() const {
  if (due_.empty()) return idle_wait_ns;
  const std::uint64_t now = now_ns();
  return due_.top().at_ns <= now ? 0 : std::min(due_.top().at_ns - now, idle_wait_ns);
}

void Upstream::run_due_streams() {
  const std::uint64_t now = now_ns();
  for (int i = 0; i < due_batch && !due_.empty() && due_.top().at_ns <= now; ++i) {
    const Due due = due_.top();
    due_.pop();
    if (due.serial == due.connection->serial()) due.connection->on_due(due.at_ns);
  }
}

Connection& Upstream::new_connection(Engine& engine, Fd fd) {
  Connection* connection = nullptr;
  if (spare_.empty()) {
    connection = &connections_.emplace_back(*this);
  } else {
    connection = spare_.back();
    spare_.pop_back();
  }
  connection->open(engine, std::move(fd));
  return *connection;
}

void Upstream::schedule(std::uint64_t due_ns, Connection& connection) {
  due_.push({due_ns, connection.serial(), &connection});
}

std::string_view Upstream::stamped_chunk() {
  write_stamp(chunk_.data() + chunk_stamp_at_, now_ns());
  return chunk_;
}

void Connection::open(Engine& engine, Fd fd) {
  engine_ = &engine;
  fd_ = std::move(fd);
  reader_.reset();
  body_front_.clear();
  unsent_.clear();
  upstream_.poller().add(fd_, EPOLLIN, static_cast<Handler*>(this));
}

void Connection::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0 && fd_.get() >= 0) receive();
}

void Connection::receive() {
  std::size_t received = 0;
  switch (receive_some(fd_, upstream_.receive_buffer(), received)) {
    case Io::would_block: return;
    case Io::closed: return shut();
    case Io::done: return take({upstream_.receive_buffer().data(), received});
  }
}

void Connection::take(std::string_view bytes) {
  // Nothing may follow a request before its answer is out: no contestant pipelines towards its upstreams.
  if (streaming_ || !unsent_.empty()) return shut();
  while (!bytes.empty()) {
    const MessageReader::Step step = reader_.read(bytes);
    bytes.remove_prefix(step.consumed);
    if (body_front_.size() < body_front_size) {
      body_front_.append(step.body.substr(0, body_front_size - body_front_.size()));
    }
    if (reader_.state() == MessageReader::State::broken) return shut();
    if (reader_.state() == MessageReader::State::complete) {
      answer();
      if (!bytes.empty()) shut();
      return;
    }
  }
}

void Connection::answer() {
  const std::string_view head = reader_.head();
  const std::size_t path_at = head.find(' ') + 1;
  const std::string_view path = head.substr(path_at, head.find(' ', path_at) - path_at);
  if (!head.starts_with("POST ")) {
    answer_page(path);
  } else if (body_front_.find("\"stream\":true") != std::string::npos) {
    begin_stream();
    return;
  } else {
    static const std::string reply = with_head("200 OK", "application/json", unary_answer());
    ++engine_->finished;
    write(reply);
  }
  end_request();
}

void Connection::answer_page(std::string_view path) {
  if (path == "/metrics") {
    write(with_head("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics_page(*engine_)));
  } else if (path == "/health") {
    write(with_head("200 OK", "text/plain", ""));
  } else if (path == "/version") {
    write(with_head("200 OK", "application/json", R"({"version":"0.11.0"})"));
  } else if (path == "/v1/models") {
    write(with_head("200 OK", "application/json",
                    R"({"object":"list","data":[{"id":"bench","object":"model","created":1700000000,)"
                    R"("owned_by":"vllm","root":"bench","parent":null,"max_model_len":16777216}]})"));
  } else {
    write(with_head("404 Not Found", "application/json", R"({"detail":"Not Found"})"));
  }
}

void Connection::begin_stream() {
  events_ = events_left_ = std::max<std::uint64_t>(number_field(body_front_, "max_tokens"), 1);
  interval_ns_ = number_field(body_front_, "bench_interval_us") * 1000;
  streaming_ = true;
  ++engine_->running;
  write(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  if (fd_.get() < 0) return;
  const bool in_step = interval_ns_ > 0 && body_front_.find("\"bench_in_step\":true") != std::string::npos;
  upstream_.schedule(in_step ? next_step(now_ns(), interval_ns_, engine_->phase) : now_ns(), *this);
}

void Connection::on_due(std::uint64_t due_ns) {
  // A flat-out stream whose socket is full goes on when flush() has emptied the backlog.
  if (interval_ns_ == 0 && !unsent_.empty()) return;
  write(upstream_.stamped_chunk());
  if (fd_.get() < 0) return;
  if (--events_left_ > 0) {
    if (interval_ns_ != 0 || unsent_.empty()) upstream_.schedule(due_ns + interval_ns_, *this);
    return;
  }
  const std::string tail = stream_tail(events_);
  streaming_ = false;
  ++serial_;
  --engine_->running;
  ++engine_->finished;
  write(fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", tail.size(), tail));
  end_request();
}

void Connection::end_request() {
  reader_.reset();
  body_front_.clear();
}

void Connection::write(std::string_view bytes) {
  if (fd_.get() < 0) return;
  if (unsent_.empty()) {
    if (send_some(fd_, bytes) == Io::closed) return shut();
    if (bytes.empty()) return;
    upstream_.poller().change(fd_, EPOLLIN | EPOLLOUT, static_cast<Handler*>(this));
  }
  // A stream that falls a megabyte behind its pace measures a stalled proxy.
  if (unsent_.size() + bytes.size() > max_unsent) fail("a stream's reader is 1 MiB behind its pace");
  unsent_.append(bytes);
}

void Connection::flush() {
  std::string_view rest = unsent_;
  const Io result = send_some(fd_, rest);
  if (result == Io::closed) return shut();
  unsent_.erase(0, unsent_.size() - rest.size());
  if (!unsent_.empty()) return;
  upstream_.poller().change(fd_, EPOLLIN, static_cast<Handler*>(this));
  if (streaming_ && interval_ns_ == 0) upstream_.schedule(now_ns(), *this);
}

void Connection::shut() {
  if (fd_.get() < 0) return;
  if (streaming_) --engine_->running;
  streaming_ = false;
  ++serial_;
  fd_ = Fd();
  upstream_.give_back(*this);
}

}  // namespace relay_bench
