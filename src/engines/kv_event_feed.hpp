#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "affinity/event_sequence.hpp"
#include "affinity/exact_index.hpp"
#include "base/clock.hpp"
#include "base/units.hpp"

namespace evenkeel::engines {

enum class KvFeedState : std::uint8_t {
  waiting,    ///< nothing has come yet
  live,       ///< its index answers
  replaying,  ///< batches are missing and have been asked for
  silent,     ///< it must have filled blocks and told of none
  away,       ///< not connected, or nobody has said yet that it is still the same engine
};
/// "waiting", "live" and so on.
[[nodiscard]] std::string_view to_string(KvFeedState state);

struct KvFeedStatus {
  KvFeedState state = KvFeedState::waiting;
  std::optional<Duration> age;            ///< since the last batch
  std::optional<std::uint64_t> sequence;  ///< its number
  bool whole = false;                     ///< known from the engine's start on; else a prompt may hold more than told
  std::size_t blocks = 0;
  std::uint32_t block_size = 0;
  std::size_t memory_bytes = 0;
  std::uint64_t batches = 0;
  std::uint64_t gaps = 0;  ///< that no replay filled; each time the index began anew, as at a restart
  std::uint64_t restarts = 0;
  std::uint64_t replays = 0;
  std::uint64_t unreadable = 0;  ///< batches, and messages that are none
  std::uint64_t unknown = 0;     ///< events
  std::uint64_t unplaced = 0;    ///< blocks whose parent is not known, or beyond capacity
};

/// One worker's KV-cache events, from bytes to what its cache holds. Whoever receives the bytes calls the upper half,
/// from one thread; the rest may be called by any. No socket and no clock.
class KvEventFeed final : private affinity::EventSequence::Sink {
 public:
  struct Options {
    std::size_t capacity = std::size_t{1} << 17U;  ///< blocks that are kept account of
    bool replays = false;                          ///< there is a replay endpoint
    /// A worker that has filled blocks for so long without telling of any is silent.
    Duration silence = std::chrono::seconds(5);
  };
  explicit KvEventFeed(Options options);

  // As of affinity::EventSequence.
  void published(std::uint64_t number, std::string payload, Time now);
  void replayed(std::uint64_t number, std::string_view payload, Time now);
  void replay_ended(Time now);
  void connected(Time now);
  void connection_lost();
  void tick(Time now);
  /// Something came that is no message of theirs.
  void malformed();
  [[nodiscard]] std::optional<std::uint64_t> take_replay_request() { return sequence_.take_replay_request(); }
  /// Whether the worker's cache was emptied since this was last asked: it restarted, or said so.
  [[nodiscard]] bool take_emptied();

  /// What the router saw it do: output tokens and requests since ever, and requests open. Among so many requests so
  /// many tokens must have filled a block.
  struct Served {
    std::uint64_t tokens = 0;
    std::uint64_t begun = 0;
    std::uint64_t open = 0;
  };
  void served(const Served& now_served, Time now);

  /// Tokens at the prompt's beginning that the worker holds; nothing unless live. Some microseconds at most while
  /// ends are evicted before beginnings.
  [[nodiscard]] std::optional<Tokens> held(const affinity::TokenChain& chain) const;
  /// 0 unless live.
  [[nodiscard]] std::uint32_t block_size() const;
  [[nodiscard]] KvFeedStatus status(Time now) const;

 private:
  void take(std::string_view payload) override;
  void lost(affinity::KvLoss why) override;
  void apply(const affinity::BlocksStored& stored);
  void apply(const affinity::BlocksRemoved& removed);
  void apply(const affinity::BlocksCleared& cleared);
  void empty();
  void note_sequence();
  [[nodiscard]] bool windowed(const std::optional<std::uint32_t>& group) const;

  const Options options_;
  affinity::EventSequence sequence_;
  Time taking_at_{};
  bool connected_ = false;
  bool emptied_ = false;
  std::optional<bool> whole_since_;    ///< what came since the sequence's own word on it
  std::uint64_t windowed_groups_ = 0;  ///< a bit each

  mutable std::mutex mutex_;  ///< of all that follows; held for a few blocks at a time
  std::unique_ptr<affinity::ExactIndex> index_;
  KvFeedStatus status_;
  Time last_batch_{};
  Served at_batch_;
  bool fresh_batch_ = false;  ///< since served() was last called
};

}  // namespace evenkeel::engines
