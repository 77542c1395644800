#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "load.hpp"
#include "message_reader.hpp"
#include "socket.hpp"
#include "wire.hpp"

namespace relay_bench {
namespace {

constexpr std::uint64_t look_every_ns = 10'000'000;

struct Stream {
  Fd fd;
  MessageReader reader;
  std::array<char, event_size> partial{};
  std::size_t partial_size = 0;
  std::uint64_t events = 0;
  std::size_t tail_seen = 0;
};

class StreamRun {
 public:
  StreamRun(const StreamPlan& plan, const Bounds& bounds)
      : plan_(plan),
        bounds_(bounds),
        request_(request_bytes(stream_request_body(plan.events, plan.interval_us, plan.in_step))),
        tail_(stream_tail(plan.events)),
        window_(plan.warmup_ns, plan.length_ns),
        delay_(plan.streams * plan.events),
        streams_(plan.streams),
        receive_buffer_(64 * 1024) {}

  void run() {
    start_ns_ = now_ns();
    if (!windowed()) begin_whole_run();
    open_all();
    while (!finished()) turn();
    if (!windowed()) window_.look(now_ns());
    if (windowed() && !window_.over()) fail("the streams ended inside the window");
    print();
  }

 private:
  bool windowed() const { return plan_.length_ns > 0; }

  void begin_whole_run() {
    window_.start(start_ns_);
    window_.look(start_ns_);
  }

  bool finished() const { return finished_ == streams_.size(); }

  // Streams begin evenly spread over one interval (at most half a second), so that their events do not come
  // in step.
  void open_all() {
    const std::uint64_t spread_ns = std::min<std::uint64_t>(plan_.interval_us * 1000, 500'000'000);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      while (now_ns() < start_ns_ + spread_ns * i / streams_.size()) turn();
      Stream& stream = streams_[i];
      stream.fd = connect_to(plan_.port);
      std::string_view bytes = request_;
      if (send_some(stream.fd, bytes) != Io::done) fail("a small request did not leave in one send");
      poller_.add(stream.fd, EPOLLIN, &stream);
    }
  }

  void turn() {
    const std::uint64_t now = now_ns();
    if (now > start_ns_ + bounds_.limit_ns) fail("the streams did not end in time");
    if (windowed()) window_.look(now);
    if (plan_.look_every_us == 0) {
      look(flowing_ < streams_.size() ? 100'000 : look_every_ns);
      return;
    }
    sleep_ns(plan_.look_every_us * 1000);
    while (look(0) == Poller::batch) {
    }
  }

  // Receives from what is ready; returns how many were.
  std::size_t look(std::uint64_t wait_ns) {
    const auto ready = poller_.wait(wait_ns);
    for (const epoll_event& event : ready) receive(*static_cast<Stream*>(event.data.ptr));
    return ready.size();
  }

  void receive(Stream& stream) {
    std::size_t received = 0;
    const Io result = receive_some(stream.fd, receive_buffer_, received);
    if (result == Io::would_block) return;
    if (result == Io::closed) fail(fmt::format("stream cut after {} events", stream.events));
    const std::uint64_t now = now_ns();
    std::string_view bytes(receive_buffer_.data(), received);
    while (!bytes.empty() && stream.reader.state() != MessageReader::State::complete) {
      const MessageReader::Step step = stream.reader.read(bytes);
      bytes.remove_prefix(step.consumed);
      if (stream.reader.state() == MessageReader::State::broken) fail(std::string(stream.reader.error()));
      if (!step.body.empty()) take_body(stream, step.body, now);
    }
    if (!bytes.empty()) fail("bytes after the end of a stream");
    if (stream.reader.state() == MessageReader::State::complete) end(stream);
  }

  void take_body(Stream& stream, std::string_view body, std::uint64_t now) {
    if (stream.events == 0 && !stream.reader.head().starts_with("HTTP/1.1 200")) {
      fail(fmt::format("status: {} ... {}", stream.reader.head(), body.substr(0, 400)));
    }
    while (!body.empty() && stream.events < plan_.events) {
      if (stream.partial_size == 0 && body.size() >= event_size) {
        take_event(stream, body.substr(0, event_size), now);
        body.remove_prefix(event_size);
        continue;
      }
      const std::size_t size = std::min(event_size - stream.partial_size, body.size());
      std::memcpy(stream.partial.data() + stream.partial_size, body.data(), size);
      stream.partial_size += size;
      body.remove_prefix(size);
      if (stream.partial_size < event_size) return;
      stream.partial_size = 0;
      take_event(stream, {stream.partial.data(), event_size}, now);
    }
    if (body.empty()) return;
    if (tail_.compare(stream.tail_seen, body.size(), body) != 0) fail("the end of a stream differs");
    stream.tail_seen += body.size();
  }

  void take_event(Stream& stream, std::string_view event, std::uint64_t now) {
    const std::string_view expected = event_template();
    const std::size_t at = stamp_offset();
    std::uint64_t sent_ns = 0;
    if (event.substr(0, at) != expected.substr(0, at) ||
        event.substr(at + stamp_size) != expected.substr(at + stamp_size) ||
        !read_stamp(event.substr(at, stamp_size), sent_ns) || sent_ns > now) {
      fail(fmt::format("event {} differs from the upstream's: {}", stream.events, event));
    }
    if (stream.events++ == 0 && ++flowing_ == streams_.size() && windowed()) {
      window_.start(now);
    }
    if (!window_.open()) return;
    ++measured_;
    if (plan_.interval_us > 0) delay_.add(now - sent_ns);
  }

  void end(Stream& stream) {
    if (stream.events != plan_.events || stream.tail_seen != tail_.size()) {
      fail(fmt::format("a stream ended after {} of {} events and {} of {} last bytes", stream.events, plan_.events,
                       stream.tail_seen, tail_.size()));
    }
    stream.fd = Fd();
    ++finished_;
  }

  void print() {
    fmt::print(
        "{{\"streams\":{},\"events\":{},\"seconds\":{:.6f},\"delay_p50_us\":{:.1f},\"delay_p99_us\":{:.1f}}}"
        "\n",
        streams_.size(), measured_, window_.seconds(), delay_.quantile_us(0.5), delay_.quantile_us(0.99));
  }

  const StreamPlan& plan_;
  const Bounds& bounds_;
  const std::string request_;
  const std::string tail_;
  Window window_;
  Samples delay_;
  Poller poller_;
  std::vector<Stream> streams_;
  std::vector<char> receive_buffer_;
  std::uint64_t start_ns_ = 0;
  std::size_t flowing_ = 0;
  std::size_t finished_ = 0;
  std::uint64_t measured_ = 0;
};

}  // namespace

void run_streams(const StreamPlan& plan, const Bounds& bounds) { StreamRun(plan, bounds).run(); }

}  // namespace relay_bench
