#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace evenkeel::affinity {

/// Why what was known of a worker's cache is void.
enum class KvLoss : std::uint8_t {
  restart,  ///< the worker counts from 0 again: its cache is empty
  gap,      ///< batches are missing and could not be had again
};

/// Puts one worker's numbered batches in order. What is missing is asked for again, if the worker replays; so is the
/// last batch that was taken, and if that one is another now, the worker has been restarted meanwhile, whatever its
/// numbers say. Batches that come while a replay runs wait for its end. Knows no socket and no clock. Not thread-safe.
class EventSequence {
 public:
  struct Limits {
    std::size_t pending_batches = 10'000;
    std::size_t pending_bytes = std::size_t{64} << 20U;
    Duration replay_silence = std::chrono::seconds(2);  ///< without a reply a replay has failed
  };
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void take(std::string_view payload) = 0;
    virtual void lost(KvLoss why) = 0;
  };

  /// `replays`: the worker can be asked for batches again.
  explicit EventSequence(bool replays) : EventSequence(replays, Limits{}) {}
  EventSequence(bool replays, Limits limits) : replays_(replays), limits_(limits) {}

  void published(std::uint64_t number, std::string payload, Time now, Sink& sink);
  /// One answer to the replay that was asked for, and their end. Ignored while none runs.
  void replayed(std::uint64_t number, std::string_view payload, Time now, Sink& sink);
  void replay_ended(Time now, Sink& sink);
  /// Whoever published is gone, or has come (back).
  void connection_lost();
  void connected(Time now, Sink& sink);
  /// Ends a replay that nobody answers. Call every second or so, or more often.
  void tick(Time now, Sink& sink);

  /// From which number on a replay is wanted, told once. Answers to an earlier one must not be handed in any more.
  [[nodiscard]] std::optional<std::uint64_t> take_replay_request();

  /// Nothing is known to be missing: everything the worker told since `whole()` or the last loss has been taken.
  [[nodiscard]] bool in_step() const { return last_ && !replaying_ && !doubtful_ && !away_; }
  [[nodiscard]] bool replaying() const { return replaying_; }
  /// Known from the worker's start on: what is not known is not there.
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] std::optional<std::uint64_t> last() const {
    return last_ ? std::optional(last_->number) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t gaps() const { return gaps_; }
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  [[nodiscard]] std::uint64_t replays() const { return replays_begun_; }

 private:
  struct Taken {
    std::uint64_t number = 0;
    std::uint64_t digest = 0;
  };
  struct Pending {
    std::uint64_t number = 0;
    std::string payload;
  };

  void take(std::uint64_t number, std::string_view payload, Sink& sink);
  void lose(KvLoss why, Sink& sink);
  void fall_behind(Sink& sink);
  void replay_anew(KvLoss why, Time now, Sink& sink);
  void begin_replay(Time now);
  void keep(std::uint64_t number, std::string payload, Sink& sink);
  void take_pending(Sink& sink);

  const bool replays_;
  const Limits limits_;
  std::optional<Taken> last_;
  bool whole_ = false;
  bool away_ = false;      ///< not connected
  bool doubtful_ = false;  ///< the connection broke since: what comes next may be another life's

  bool replaying_ = false;
  bool compare_ = false;  ///< the first answer must be the last batch that was taken
  std::optional<std::uint64_t> wanted_;
  Time replay_until_{};
  std::deque<Pending> pending_;
  std::size_t pending_bytes_ = 0;

  std::uint64_t gaps_ = 0;
  std::uint64_t restarts_ = 0;
  std::uint64_t replays_begun_ = 0;
};

}  // namespace evenkeel::affinity
