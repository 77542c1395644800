#include "emulator/kv_publisher.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <zmq.hpp>

#include "base/random.hpp"

// The library's header takes `bool` for something that C has not.
#define bool bool
extern "C" {
#include <mpack.h>
}
#undef bool

namespace evenkeel::emulator {

namespace {

/// vLLM's own buffer_steps.
constexpr std::size_t kept_batches = 10'000;
constexpr std::array<char, 8> end_of_replay = {'\xFF', '\xFF', '\xFF', '\xFF', '\xFF', '\xFF', '\xFF', '\xFF'};

std::array<char, 8> big_endian(std::uint64_t value) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (56 - 8 * i) & 255U);
  return bytes;
}

/// Writes MessagePack.
class Packer {
 public:
  Packer& list(std::size_t items) { return put(mpack_pack_array(static_cast<mpack_uint32_t>(items))); }
  Packer& map(std::size_t pairs) { return put(mpack_pack_map(static_cast<mpack_uint32_t>(pairs))); }
  Packer& nil() { return put(mpack_pack_nil()); }
  Packer& number(std::uint64_t value) { return put(mpack_pack_uint(value)); }
  Packer& integer(std::int64_t value) {
    return value < 0 ? put(mpack_pack_sint(value)) : number(static_cast<std::uint64_t>(value));
  }
  Packer& real(double value) { return put(mpack_pack_float_fast(value)); }
  Packer& text(std::string_view text) {
    return put(mpack_pack_str(static_cast<mpack_uint32_t>(text.size()))).raw(text);
  }
  Packer& bytes(std::string_view bytes) {
    return put(mpack_pack_bin(static_cast<mpack_uint32_t>(bytes.size()))).raw(bytes);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  Packer& put(const mpack_token_t& token) {
    std::array<char, 16> buffer{};
    char* at = buffer.data();
    std::size_t left = buffer.size();
    mpack_tokbuf_t state{};
    (void)mpack_write(&state, &at, &left, &token);
    return raw({buffer.data(), buffer.size() - left});
  }
  Packer& raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  std::string out_;
};

struct Stored {
  std::vector<std::uint64_t> blocks;
  std::uint64_t parent = 0;
  std::vector<std::uint32_t> tokens;
};
struct Removed {
  std::uint64_t block = 0;
};
struct Cleared {};
using Event = std::variant<Stored, Removed, Cleared>;

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

struct KvPublisher::Sockets {
  zmq::context_t context;
};

class KvPublisher::Rank final : public engine::CacheObserver {
 public:
  Rank(zmq::context_t& context, const KvEventOptions& options, std::int64_t block_size, std::size_t number)
      : options_(options),
        block_size_(static_cast<std::size_t>(block_size)),
        number_(number),
        events_at_(context, zmq::socket_type::pub),
        replay_at_(context, zmq::socket_type::router) {
    events_at_.set(zmq::sockopt::linger, 0);
    replay_at_.set(zmq::sockopt::linger, 0);
    events_at_.set(zmq::sockopt::ipv6, true);
    replay_at_.set(zmq::sockopt::ipv6, true);
    events_at_.set(zmq::sockopt::sndhwm, 100'000);
    replay_at_.set(zmq::sockopt::sndhwm, 100'000);
  }
  void bind(const std::string& events, const std::string& replay) {
    events_at_.bind(events);
    if (!replay.empty()) replay_at_.bind(replay);
  }

  void stored(std::uint64_t hash, std::uint64_t parent, const engine::PromptPrefix& prefix,
              std::int64_t block) override {
    const auto& tokens = static_cast<const TokenPrefix&>(prefix).tokens;
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(block) * block_size_);
    Stored* row = events_.empty() ? nullptr : std::get_if<Stored>(&events_.back());
    if (row == nullptr || row->blocks.back() != parent) {
      row = &std::get<Stored>(events_.emplace_back(Stored{{}, parent, {}}));
    }
    row->blocks.push_back(hash);
    row->tokens.insert(row->tokens.end(), begin, begin + static_cast<std::ptrdiff_t>(block_size_));
  }
  void removed(std::uint64_t hash) override { events_.emplace_back(Removed{hash}); }
  void cleared() { events_.emplace_back(Cleared{}); }

  void flush() {
    if (!events_.empty()) {
      kept_.emplace_back(next_++, packed());
      if (kept_.size() > kept_batches) kept_.pop_front();
      events_.clear();
      if (to_drop_ > 0) {
        --to_drop_;
      } else if (waiting_.size() < kept_batches) {
        waiting_.push_back(kept_.back());
      }
    }
    if (silent_) return;
    for (const auto& [number, payload] : waiting_) {
      const auto sequence = big_endian(number);
      events_at_.send(zmq::message_t(), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
      events_at_.send(zmq::buffer(sequence), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
      events_at_.send(zmq::buffer(payload), zmq::send_flags::dontwait);
    }
    waiting_.clear();
  }

  void restart() {
    events_.clear();
    kept_.clear();
    waiting_.clear();
    next_ = 0;
  }
  void drop(std::int64_t batches) { to_drop_ = batches; }
  void set_faults(bool silent, bool no_replay) {
    silent_ = silent;
    no_replay_ = no_replay;
    flush();
  }
  [[nodiscard]] std::optional<std::uint64_t> last_number() const {
    return next_ == 0 ? std::nullopt : std::optional(next_ - 1);
  }

  /// Requests are [peer, empty, first wanted number].
  void answer_replays() {
    while (true) {
      std::vector<zmq::message_t> frames;
      do {
        zmq::message_t frame;
        if (!replay_at_.recv(frame, zmq::recv_flags::dontwait)) return;
        frames.push_back(std::move(frame));
      } while (replay_at_.get(zmq::sockopt::rcvmore) != 0);
      if (frames.size() != 3 || frames[2].size() != 8 || no_replay_) continue;
      std::uint64_t from = 0;
      for (std::size_t i = 0; i < 8; ++i) from = from << 8U | static_cast<const unsigned char*>(frames[2].data())[i];
      const std::string_view peer(static_cast<const char*>(frames[0].data()), frames[0].size());
      for (const auto& [number, payload] : kept_) {
        if (number >= from) reply(peer, big_endian(number), payload);
      }
      reply(peer, end_of_replay, {});
    }
  }

 private:
  void reply(std::string_view peer, const std::array<char, 8>& number, std::string_view payload) {
    constexpr auto more = zmq::send_flags::sndmore;
    replay_at_.send(zmq::buffer(peer), more);
    replay_at_.send(zmq::message_t(), more);
    if (!options_.lists) replay_at_.send(zmq::message_t(), more);  // the topic, of a later birth than maps
    replay_at_.send(zmq::buffer(number), more);
    replay_at_.send(zmq::buffer(payload), zmq::send_flags::none);
  }

  void pack_hash(Packer& out, std::uint64_t hash) const {
    if (options_.hashes == KvEventOptions::Hashes::integers) {
      out.number(hash);
    } else if (options_.hashes == KvEventOptions::Hashes::signed_integers) {
      out.integer(static_cast<std::int64_t>(hash));
    } else {
      std::string digest;
      for (std::uint64_t i = 3; i > 0; --i) digest.append(big_endian(mix64(hash + i)).data(), 8);
      out.bytes(digest.append(big_endian(hash).data(), 8));
    }
  }

  /// The name of the event and of each field in maps, and their values.
  void pack(Packer& out, const Stored& row) const {
    const bool maps = !options_.lists;
    if (maps) {
      out.map(row.parent == 0 ? 5 : 6).text("type");
    } else {
      out.list(7);
    }
    out.text("BlockStored");
    if (maps) out.text("block_hashes");
    out.list(row.blocks.size());
    for (const std::uint64_t hash : row.blocks) pack_hash(out, hash);
    if (row.parent != 0) {
      if (maps) out.text("parent_block_hash");
      pack_hash(out, row.parent);
    } else if (!maps) {
      out.nil();
    }
    if (maps) out.text("token_ids");
    out.list(row.tokens.size());
    for (const std::uint32_t token : row.tokens) out.number(token);
    if (maps) out.text("block_size");
    out.number(block_size_);
    if (!maps) out.nil();  // lora_id
    if (maps) out.text("medium");
    out.text("GPU");
  }
  void pack(Packer& out, const Removed& event) const {
    if (options_.lists) {
      out.list(3).text("BlockRemoved").list(1);
      pack_hash(out, event.block);
      out.text("GPU");
    } else {
      out.map(3).text("type").text("BlockRemoved").text("block_hashes").list(1);
      pack_hash(out, event.block);
      out.text("medium").text("GPU");
    }
  }
  void pack(Packer& out, const Cleared&) const {
    if (!options_.lists) out.map(1).text("type");
    if (options_.lists) out.list(1);
    out.text("AllBlocksCleared");
  }
  [[nodiscard]] std::string packed() const {
    Packer out;
    out.list(3).real(unix_seconds()).list(events_.size());
    for (const Event& event : events_) std::visit([&](const auto& each) { pack(out, each); }, event);
    out.number(number_);
    return out.take();
  }

  const KvEventOptions options_;
  const std::size_t block_size_;
  const std::size_t number_;
  zmq::socket_t events_at_;
  zmq::socket_t replay_at_;
  std::int64_t to_drop_ = 0;
  bool silent_ = false;
  bool no_replay_ = false;
  std::vector<Event> events_;  ///< of the step that runs
  std::uint64_t next_ = 0;
  std::deque<std::pair<std::uint64_t, std::string>> kept_;
  std::vector<std::pair<std::uint64_t, std::string>> waiting_;
};

KvPublisher::KvPublisher() : sockets_(std::make_unique<Sockets>()) {}

KvPublisher::~KvPublisher() = default;

Result<std::shared_ptr<KvPublisher>> KvPublisher::open(http::EventLoop& loop, const EmulatorOptions& options,
                                                       std::size_t replica) {
  std::shared_ptr<KvPublisher> publisher(new KvPublisher);
  const KvEventOptions& kv = *options.kv_events;
  const std::string host = options.host.find(':') == std::string::npos ? options.host : "[" + options.host + "]";
  for (std::size_t rank = 0; rank < options.engine.ranks; ++rank) {
    const std::size_t place = replica * options.engine.ranks + rank;
    const std::string events = fmt::format("tcp://{}:{}", host, kv.port + place);
    const std::string replay = kv.replay_port == 0 ? "" : fmt::format("tcp://{}:{}", host, kv.replay_port + place);
    try {
      publisher->ranks_.push_back(
          std::make_unique<Rank>(publisher->sockets_->context, kv, options.engine.block_size, rank));
      publisher->ranks_.back()->bind(events, replay);
    } catch (const zmq::error_t& error) {
      return failure(
          fmt::format("KV events at {}{}: {}", events, replay.empty() ? "" : " and " + replay, error.what()));
    }
  }
  if (kv.replay_port != 0) loop.spawn(answer_replays, publisher);
  return publisher;
}

http::Task<void> KvPublisher::answer_replays(http::Fiber& fiber, std::shared_ptr<KvPublisher> self) {
  while (true) {
    for (const auto& rank : self->ranks_) rank->answer_replays();
    co_await fiber.sleep_until(fiber.loop().now() + std::chrono::milliseconds(20));
  }
}

engine::CacheObserver* KvPublisher::of_rank(std::size_t rank) { return ranks_[rank].get(); }

void KvPublisher::flush() {
  for (const auto& rank : ranks_) rank->flush();
}

void KvPublisher::note_cleared() {
  for (const auto& rank : ranks_) rank->cleared();
}

void KvPublisher::restart() {
  for (const auto& rank : ranks_) rank->restart();
}

void KvPublisher::drop(std::int64_t batches) {
  for (const auto& rank : ranks_) rank->drop(batches);
}

void KvPublisher::set_faults(bool silent, bool no_replay) {
  for (const auto& rank : ranks_) rank->set_faults(silent, no_replay);
}

std::optional<std::uint64_t> KvPublisher::last_number(std::size_t rank) const { return ranks_[rank]->last_number(); }

}  // namespace evenkeel::emulator
