#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "config/settings.hpp"
#include "dispatch/dispatcher.hpp"
#include "gateway/breakers.hpp"
#include "gateway/hosted_model.hpp"
#include "gateway/peer_link.hpp"
#include "gateway/peer_load.hpp"
#include "http/message.hpp"
#include "peers/origins.hpp"
#include "peers/peer.hpp"

namespace evenkeel::gateway {

/// Who this router is to others.
struct SelfIdentity {
  std::string name;         ///< what it calls itself: the operator's word, else the instance
  std::string instance;     ///< of this process: two that are alike are one
  std::uint64_t epoch = 0;  ///< larger at each start
};

/// What is known of peers, and what they are told: for each peer and each model shared with it a worker of the
/// dispatcher and a peers::Peer, and the books of what peers have here. Thread-safe behind a small lock of its own; the
/// dispatcher is told of what changed outside of it.
class PeerBoard {
 public:
  PeerBoard(const config::ServeSettings& settings, dispatch::Dispatcher& dispatcher, Breakers& breakers,
            const Clock& clock, SelfIdentity self);

  [[nodiscard]] const SelfIdentity& self() const { return self_; }
  [[nodiscard]] std::size_t peers() const { return boxes_.size(); }
  [[nodiscard]] const config::PeerSetting& setting(PeerNumber peer) const { return settings_.peers[peer.value]; }
  /// Whether it is taken for a router of our kind: as declared, else as it showed itself; so far neither: yes.
  [[nodiscard]] bool is_evenkeel(PeerNumber peer) const;

  // --- who asks ---
  /// The declared peer that a request came from: by its hop marker, its address and, where one is asked of it, its key.
  /// `host` is the address it came from, without a port. Of several peers that could be meant (on one machine, with no
  /// keys) the one that bears the marker's name. Without a marker nobody, at the cost of two look-ups in the head.
  [[nodiscard]] std::optional<PeerNumber> identify(std::string_view host, const http::Head& head,
                                                   std::string_view head_bytes) const;

  // --- what peers send here ---
  /// One request from a peer, counted from when it is taken on until this ends.
  class TakenOn {
   public:
    TakenOn() = default;
    TakenOn(PeerBoard& board, PeerNumber from, ModelId model);
    TakenOn(TakenOn&& other) noexcept { *this = std::move(other); }
    TakenOn& operator=(TakenOn&& other) noexcept;
    TakenOn(const TakenOn&) = delete;
    TakenOn& operator=(const TakenOn&) = delete;
    ~TakenOn() { end(); }
    /// Whether it may wait here for a slot, as it was sent ahead of one: fewer wait so than there are slots. It then
    /// counts as waiting until placed().
    [[nodiscard]] bool may_wait();
    void placed();
    void end();
    [[nodiscard]] bool open() const { return board_ != nullptr; }

   private:
    PeerBoard* board_ = nullptr;
    PeerNumber from_;
    ModelId model_;
    bool waits_ = false;
  };
  /// What the peer is to be told now. `took` as of PeerLoad.
  [[nodiscard]] PeerLoad load_for(PeerNumber peer, ModelId model, std::optional<Duration> took = {});
  /// A request has left an own worker of the model: who was told that all slots are taken is told that one is free.
  void released(ModelId model);

  // --- what is sent to peers ---
  /// One request at a peer, counted from when it is sent until this ends, whatever became of it.
  class Dispatch {
   public:
    Dispatch() = default;
    Dispatch(PeerBoard& board, WorkerId worker);
    Dispatch(Dispatch&& other) noexcept { *this = std::move(other); }
    Dispatch& operator=(Dispatch&& other) noexcept;
    Dispatch(const Dispatch&) = delete;
    Dispatch& operator=(const Dispatch&) = delete;
    ~Dispatch() { end(); }
    /// All the peer's slots were taken when it was sent: it is to be marked as sent ahead.
    [[nodiscard]] bool ahead() const { return ahead_; }
    /// The load told with an answer's head, which this is called at. If it tells `took`, there and back took the rest.
    void heard(const PeerLoad& load);
    /// The whole answer is here: what the request took, and of that the way, if heard() could tell.
    void answered();
    /// The peer refused it as a box that takes nothing on: it is left alone until a probe, due now, says otherwise.
    void declined();
    /// The peer had no slot for it. Ends this.
    void sent_back(const std::optional<PeerLoad>& load);
    void end();
    [[nodiscard]] bool open() const { return board_ != nullptr; }

   private:
    PeerBoard* board_ = nullptr;
    WorkerId worker_;
    Time since_{};
    std::optional<Duration> there_and_back_;
    bool ahead_ = false;
  };

  // --- for the control thread ---
  /// Where requests of the peer may come from: addresses without ports.
  void set_hosts(PeerNumber peer, std::vector<std::string> hosts);
  /// What a probe told of the peer itself. `evenkeel` counts if its kind was not declared.
  void set_identity(PeerNumber peer, std::string name, std::string instance, bool evenkeel);
  /// From now on the peer may serve the model, once a probe says so and it is known what it is compared with.
  WorkerId add(PeerNumber peer, ModelId model, std::string served);
  [[nodiscard]] std::optional<WorkerId> worker(PeerNumber peer, ModelId model) const;
  /// As of peers::Peer::compare_with(). tick() tells what comes of it.
  void compare_with(WorkerId worker, std::optional<peers::Fingerprint> ours);
  /// What engines of our own serve: as peers are told.
  void set_hosted(std::vector<HostedModel> hosted);

  /// What a probe brought of one model.
  struct Said {
    ModelId model;
    peers::Status status;
  };
  [[nodiscard]] bool probe_due(PeerNumber peer) const;
  void probe_sent(PeerNumber peer);
  void probe_lost(PeerNumber peer, std::string why);
  /// What is compared with peers has changed: all are to be probed now.
  void ask_again();
  /// Models of the peer that are not among `said` it serves no more.
  void probe_answered(PeerNumber peer, std::span<const Said> said);
  /// The peer must not be used, whatever it answers: why. Empty: it may.
  void bar(PeerNumber peer, std::string why);
  /// News that the peer sent by itself.
  void pushed(PeerNumber peer, ModelId model, const PeerLoad& load);
  /// Shares change with time, too, and slots are freed by who does not say so. Call every 20 to 100 ms.
  void tick();
  /// Called when somebody must be told of a free slot, from any thread, outside of all locks.
  void set_alarm(std::function<void()> ring);
  struct Release {
    PeerNumber peer;
    ModelId model;
  };
  /// Who must be told, each once.
  [[nodiscard]] std::vector<Release> take_releases();

  // --- to be shown ---
  [[nodiscard]] std::shared_ptr<const std::vector<HostedModel>> hosted() const;
  struct Row {
    PeerNumber peer;
    ModelId model;
    WorkerId worker;
    std::string served;
    peers::PeerShare share;  ///< why_not if it cannot be used
    bool listed = false;     ///< the peer says it serves the model
    bool ready = false;      ///< its engine, by the last probe
    std::int64_t open = 0;   ///< ours there
    Duration forward_delay{};
    std::string capacity_note;
    std::optional<std::string> capacity;  ///< as it says
    double running = 0;                   ///< by its gauges
    double waiting = 0;
    peers::Fingerprint fingerprint;
    std::vector<fleet::RatePoint> rates;  ///< as far as they are believed
    std::string rates_note;               ///< if they are not
    std::uint64_t sent = 0;               ///< dispatches, ever
    std::uint64_t sent_back = 0;          ///< of these
    std::int64_t taken_on = 0;            ///< from it, now here
  };
  struct BoxRow {
    PeerNumber peer;
    std::string name;      ///< what it calls itself; empty: not told
    std::string instance;  ///< the same
    bool evenkeel = true;
    bool up = false;                   ///< it answered, and not lost since
    std::optional<Duration> answered;  ///< how long ago it last answered a probe
    std::uint64_t lost = 0;            ///< probes, ever
    std::string last_error;
  };
  [[nodiscard]] std::vector<Row> rows() const;
  [[nodiscard]] std::vector<BoxRow> boxes() const;

 private:
  struct Place {
    PeerNumber number;
    ModelId model;
    std::string served;
    peers::Peer peer;
    peers::PeerShare share{};  ///< as the dispatcher has it
    bool told = false;         ///< it has the share and the rates
    bool probed = false;
    bool listed = true;  ///< by the last answer to a probe, if there was one
    peers::Status last{};
    std::vector<fleet::RatePoint> rates{};  ///< the same
    std::uint64_t sent = 0;
    std::uint64_t sent_back = 0;
  };
  struct Box {
    std::vector<std::string> hosts;
    std::string accept;  ///< whole value of Authorization, or empty
    std::string name;
    std::string instance;
    std::optional<bool> evenkeel;
    std::string barred;
    std::string last_error;
    std::optional<Time> answered;
    std::uint64_t lost = 0;
    int lost_in_a_row = 0;
    Time next_probe{};
    bool probing = false;
  };
  /// Of one model: what peers have here.
  struct Guests {
    Guests(std::size_t peers, std::uint64_t epoch) : origins(peers, epoch), told_full(peers, false) {}
    peers::Origins origins;
    std::int64_t waiting = 0;
    std::vector<bool> told_full;  ///< by peer
  };

  Guests& guests(ModelId model);
  [[nodiscard]] peers::PeerShare share_of(const Place& place, Time now) const;
  /// Tells the dispatcher if what may be used of the worker has changed. Takes the lock.
  void refresh(WorkerId worker);
  template <class Change>
  void change(WorkerId worker, Change what);

  const config::ServeSettings& settings_;
  dispatch::Dispatcher& dispatcher_;
  Breakers& breakers_;
  const Clock& clock_;
  const SelfIdentity self_;
  const peers::PeerOptions options_;

  /// Held while the dispatcher is told, so that it hears of changes in their order; taken before mutex_.
  std::mutex telling_;
  mutable std::mutex mutex_;
  std::vector<Box> boxes_;  ///< by PeerNumber
  std::map<WorkerId, Place> places_;
  std::map<ModelId, Guests> guests_;
  std::shared_ptr<const std::vector<HostedModel>> hosted_ = std::make_shared<std::vector<HostedModel>>();
  std::vector<Release> releases_;
  std::function<void()> ring_;
};

}  // namespace evenkeel::gateway
