#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "emulator/bootstrap_params.hpp"
#include "emulator/live_engine.hpp"
#include "emulator/options.hpp"
#include "emulator/side_channel.hpp"
#include "http/server.hpp"

namespace evenkeel::emulator {

/// The meeting of the two legs of a request as SGLang has it: both are sent at once; the prefill leg waits until the
/// decode leg has blocks for the prompt, prefills, sends the KV, and only then answers. One for each port.
/// Side channel: posts of /kv/room/meet and /kv/room/leave to the prefill side, of /kv/room/done to the decode side.
class Bootstrap : public std::enable_shared_from_this<Bootstrap> {
 public:
  struct Counters {
    std::int64_t whole = 0;    ///< legs here whose KV was handed over
    std::int64_t failed = 0;   ///< legs here that ended otherwise
    std::int64_t clashes = 0;  ///< requests with a room in use
  };

  /// A request that is in its room. Its end leaves the room, and tells the other side unless all went well.
  class Leg {
   public:
    Leg(std::shared_ptr<Bootstrap> owner, BootstrapParams params, bool prefill)
        : owner_(std::move(owner)), params_(std::move(params)), prefill_(prefill) {}
    Leg(const Leg&) = delete;
    Leg& operator=(const Leg&) = delete;
    ~Leg() { owner_->leave(*this); }
    [[nodiscard]] bool prefill() const { return prefill_; }

   private:
    friend class Bootstrap;
    std::shared_ptr<Bootstrap> owner_;
    BootstrapParams params_;
    bool prefill_;
    bool told_ = false;   ///< decode: the prefill side knows of it
    bool whole_ = false;  ///< the KV was handed over
  };

  enum class Meeting : std::uint8_t { met, client_gone, failed };

  /// `self`: where the other side finds this one.
  Bootstrap(http::EventLoop& loop, std::shared_ptr<LiveEngine> engine, const KvOptions& options, Peer self);

  /// Null: the room is in use (which crashes a real engine), or both legs may be served here and nobody can tell which
  /// this is.
  [[nodiscard]] std::unique_ptr<Leg> enter(const BootstrapParams& params, http::Fiber& fiber);
  /// Prefill: until the decode side has blocks.
  http::Task<Meeting> await_decode(http::Fiber& fiber, Leg& leg, http::Responder& responder);
  /// Prefill: the decode side has gone.
  [[nodiscard]] bool abandoned(const Leg& leg) const;
  /// Prefill: takes the time of a transfer of so many tokens and tells the decode side.
  http::Task<void> hand_over(http::Fiber& fiber, Leg& leg, Tokens tokens);
  /// Decode, which has blocks now: until the KV has come.
  http::Task<Meeting> await_prefill(http::Fiber& fiber, Leg& leg, http::Responder& responder);

  http::Task<void> serve(const http::ServerRequest& request, http::Responder& responder);
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] std::size_t rooms() const { return rooms_.size(); }
  /// The loop will not run any more.
  void close() { closed_ = true; }

 private:
  struct Room {
    http::Fiber* leg = nullptr;    ///< of the request that is here; woken when something changes
    std::optional<Peer> decode{};  ///< the decode side has blocks and waits there
    bool left = false;             ///< the other side has gone
    bool done = false;             ///< decode: the KV has come
    Time since;                    ///< engine time
  };
  void leave(Leg& leg);
  void sweep();
  static http::Task<void> tell(http::Fiber& fiber, Peer peer, std::string path, std::string body);

  http::EventLoop& loop_;
  std::shared_ptr<LiveEngine> engine_;
  KvOptions options_;
  Peer self_;
  std::unordered_map<std::int64_t, Room> rooms_;
  std::unordered_set<std::int64_t> broken_;  ///< rooms whose prefill leg failed; the last of them
  std::deque<std::int64_t> broken_order_;
  Counters counters_;
  bool closed_ = false;
};

}  // namespace evenkeel::emulator
