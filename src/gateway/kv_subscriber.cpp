#include "gateway/kv_subscriber.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <zmq.hpp>

#include "base/text.hpp"
#include "engines/kv_event_batch.hpp"

namespace evenkeel::gateway {

namespace {

constexpr std::chrono::milliseconds beat(200);
/// Of one worker in one turn, so that a worker that floods delays the others only so long.
constexpr int messages_a_turn = 256;
constexpr int most_queued = 100'000;  // as the publishers' own bound

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

std::string_view text_of(const zmq::message_t& message) {
  return {static_cast<const char*>(message.data()), message.size()};
}

/// The frames of one message; nothing if none has come. More than there should be are dropped.
std::optional<std::vector<zmq::message_t>> receive(zmq::socket_t& socket) {
  std::vector<zmq::message_t> frames;
  do {
    zmq::message_t frame;
    if (!socket.recv(frame, zmq::recv_flags::dontwait)) return std::nullopt;
    if (frames.size() < 5) frames.push_back(std::move(frame));
  } while (socket.get(zmq::sockopt::rcvmore) != 0);
  return frames;
}

}  // namespace

Result<std::string> kv_endpoint_of_rank(std::string_view endpoint, std::uint32_t rank) {
  if (rank == 0) return std::string(endpoint);
  const auto colon = endpoint.rfind(':');
  const auto port = endpoint.starts_with("tcp://") ? parse_unsigned(endpoint.substr(colon + 1)) : std::nullopt;
  if (!port) return failure(fmt::format("\"{}\" has no port that rank {} could be told by", endpoint, rank));
  if (*port + rank > 65535) return failure(fmt::format("\"{}\" leaves no port for rank {}", endpoint, rank));
  return fmt::format("{}:{}", endpoint.substr(0, colon), *port + rank);
}

/// One worker's sockets. They are made by whoever follows it and from then on belong to the thread.
struct Followed {
  WorkerId worker;
  std::string replay_at;
  std::shared_ptr<engines::KvEventFeed> feed;
  zmq::socket_t events;
  zmq::socket_t monitor;
  std::optional<zmq::socket_t> replay;
};

struct KvSubscriber::Parts {
  Parts(const Clock& with, Emptied tell) : clock(with), emptied(std::move(tell)), wakeup(::eventfd(0, EFD_NONBLOCK)) {
    context.set(zmq::ctxopt::max_sockets, 8192);
  }

  void run();
  void take_changes();
  void poll_once();
  void take_published(Followed& of);
  void take_monitored(Followed& of);
  void take_replayed(Followed& of);
  void ask_replay(Followed& of);
  void wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wakeup, &one, sizeof one);
  }

  const Clock& clock;
  const Emptied emptied;
  const int wakeup;
  zmq::context_t context;
  std::atomic<bool> stop{false};
  std::thread thread;

  mutable std::mutex mutex;  ///< of the next three
  std::vector<std::unique_ptr<Followed>> joining;
  std::vector<WorkerId> leaving;
  std::map<WorkerId, std::shared_ptr<engines::KvEventFeed>> feeds;

  std::uint64_t monitors = 0;
  std::vector<std::unique_ptr<Followed>> followed;  ///< the thread's own, as the next
  std::vector<zmq::pollitem_t> items;
};

KvSubscriber::KvSubscriber(const Clock& clock, Emptied emptied)
    : parts_(std::make_unique<Parts>(clock, std::move(emptied))) {}

KvSubscriber::~KvSubscriber() {
  parts_->stop.store(true);
  parts_->wake();
  if (parts_->thread.joinable()) parts_->thread.join();
  parts_->followed.clear();
  parts_->joining.clear();
  ::close(parts_->wakeup);
}

Result<std::shared_ptr<engines::KvEventFeed>> KvSubscriber::follow(WorkerId worker, const std::string& events,
                                                                   const std::string& replay, std::size_t capacity) {
  Parts& parts = *parts_;
  const std::lock_guard lock(parts.mutex);
  auto of = std::make_unique<Followed>();
  of->worker = worker;
  of->replay_at = replay;
  of->feed = std::make_shared<engines::KvEventFeed>(
      engines::KvEventFeed::Options{.capacity = capacity, .replays = !replay.empty()});
  try {
    of->events = zmq::socket_t(parts.context, zmq::socket_type::sub);
    of->events.set(zmq::sockopt::linger, 0);
    of->events.set(zmq::sockopt::ipv6, true);
    of->events.set(zmq::sockopt::rcvhwm, most_queued);
    of->events.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(engines::max_kv_payload_bytes));
    of->events.set(zmq::sockopt::reconnect_ivl_max, 1000);
    of->events.set(zmq::sockopt::subscribe, "");
    // Watched before anything happens.
    const std::string seen_at = fmt::format("inproc://kv-monitor-{}", parts.monitors++);
    if (zmq_socket_monitor(of->events.handle(), seen_at.c_str(),
                           ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0) {
      return failure(zmq_strerror(zmq_errno()));
    }
    of->monitor = zmq::socket_t(parts.context, zmq::socket_type::pair);
    of->monitor.set(zmq::sockopt::linger, 0);
    of->monitor.connect(seen_at);
    if (events.find('*') != std::string::npos) {
      of->events.bind(events);
    } else {
      of->events.connect(events);
    }
    if (!replay.empty()) {  // whether it can be connected to at all
      zmq::socket_t trial(parts.context, zmq::socket_type::dealer);
      trial.set(zmq::sockopt::linger, 0);
      trial.connect(replay);
    }
  } catch (const zmq::error_t& error) {
    return failure(fmt::format("KV events at \"{}\"{}: {}", events,
                               replay.empty() ? "" : fmt::format(", replay at \"{}\"", replay), error.what()));
  }
  auto feed = of->feed;
  parts.feeds[worker] = feed;
  parts.joining.push_back(std::move(of));
  if (!parts.thread.joinable()) parts.thread = std::thread([&parts] { parts.run(); });
  parts.wake();
  return feed;
}

void KvSubscriber::leave(WorkerId worker) {
  const std::lock_guard lock(parts_->mutex);
  if (parts_->feeds.erase(worker) == 0) return;
  parts_->leaving.push_back(worker);
  parts_->wake();
}

KvSubscriber::Statuses KvSubscriber::statuses() const {
  const std::lock_guard lock(parts_->mutex);
  Statuses all;
  const Time now = parts_->clock.now();
  for (const auto& [worker, feed] : parts_->feeds) all.emplace_back(worker, feed->status(now));
  return all;
}

// --- the thread ------------------------------------------------------------------------------------------------

void KvSubscriber::Parts::run() {
  while (!stop.load()) {
    take_changes();
    try {
      poll_once();
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) continue;
      spdlog::error("KV events: {}", error.what());
      std::this_thread::sleep_for(beat);
    }
  }
}

void KvSubscriber::Parts::take_changes() {
  const std::lock_guard lock(mutex);
  // One that left and came back stands in both: what left came first.
  for (const WorkerId worker : leaving) {
    const auto is = [&](const auto& each) { return each->worker == worker; };
    if (std::erase_if(followed, is) > 0) continue;
    const auto at = std::find_if(joining.begin(), joining.end(), is);
    if (at != joining.end()) joining.erase(at);
  }
  leaving.clear();
  for (auto& each : joining) followed.push_back(std::move(each));
  joining.clear();
}

void KvSubscriber::Parts::poll_once() {
  items.clear();
  items.push_back({nullptr, wakeup, ZMQ_POLLIN, 0});
  for (const auto& each : followed) {
    items.push_back({each->events.handle(), 0, ZMQ_POLLIN, 0});
    items.push_back({each->monitor.handle(), 0, ZMQ_POLLIN, 0});
    if (each->replay) items.push_back({each->replay->handle(), 0, ZMQ_POLLIN, 0});
  }
  zmq::poll(items, beat);
  std::uint64_t ignored = 0;
  if (items[0].revents != 0) (void)!::read(wakeup, &ignored, sizeof ignored);
  for (const auto& each : followed) {
    // Events before what became of their connection: they came over it.
    take_published(*each);
    take_monitored(*each);
    take_replayed(*each);
    each->feed->tick(clock.now());
    ask_replay(*each);
    if (each->feed->take_emptied()) emptied(each->worker);
  }
}

void KvSubscriber::Parts::take_published(Followed& of) {
  for (int i = 0; i < messages_a_turn; ++i) {
    const auto frames = receive(of.events);
    if (!frames) return;
    // Topic, number, batch.
    if (frames->size() == 3 && (*frames)[1].size() == 8) {
      of.feed->published(big_endian(text_of((*frames)[1])), std::string(text_of((*frames)[2])), clock.now());
    } else {
      of.feed->malformed();
    }
  }
}

void KvSubscriber::Parts::take_monitored(Followed& of) {
  while (const auto frames = receive(of.monitor)) {
    std::uint16_t event = 0;
    if (frames->front().size() < sizeof event) continue;
    std::memcpy(&event, frames->front().data(), sizeof event);
    if (event == ZMQ_EVENT_DISCONNECTED) of.feed->connection_lost();
    if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) of.feed->connected(clock.now());
  }
}

void KvSubscriber::Parts::take_replayed(Followed& of) {
  for (int i = 0; of.replay && i < messages_a_turn; ++i) {
    const auto frames = receive(*of.replay);
    if (!frames) return;
    // Empty, topic (since vLLM of July 2026), number, batch.
    const std::size_t count = frames->size();
    if (count < 3 || count > 4 || (*frames)[count - 2].size() != 8) {
      of.feed->malformed();
      continue;
    }
    const std::uint64_t number = big_endian(text_of((*frames)[count - 2]));
    if (number == ~std::uint64_t{0}) {
      of.replay.reset();
      of.feed->replay_ended(clock.now());
    } else {
      of.feed->replayed(number, text_of((*frames)[count - 1]), clock.now());
    }
  }
}

/// Over a socket of its own each time, so that answers to an earlier request are never taken for answers to this one.
void KvSubscriber::Parts::ask_replay(Followed& of) {
  const auto from = of.feed->take_replay_request();
  if (!from) return;
  of.replay.emplace(context, zmq::socket_type::dealer);
  of.replay->set(zmq::sockopt::linger, 0);
  of.replay->set(zmq::sockopt::ipv6, true);
  of.replay->set(zmq::sockopt::rcvhwm, most_queued);
  of.replay->set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(engines::max_kv_payload_bytes));
  of.replay->connect(of.replay_at);
  std::array<char, 8> number{};
  for (std::size_t i = 0; i < number.size(); ++i) number[i] = static_cast<char>(*from >> (56 - 8 * i) & 255U);
  (void)of.replay->send(zmq::message_t(), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
  (void)of.replay->send(zmq::buffer(number), zmq::send_flags::dontwait);
}

}  // namespace evenkeel::gateway
