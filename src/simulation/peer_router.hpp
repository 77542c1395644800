#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dispatch/dispatcher.hpp"
#include "peers/origins.hpp"
#include "peers/peer.hpp"
#include "simulation/peer_world.hpp"

namespace evenkeel::simulation {

struct PeerRouterOptions {
  Exchange exchange = Exchange::books;
  bool known_rates = true;   ///< rates and mean output are given; else learned from nothing
  double mean_output = 256;  ///< as of DispatcherOptions
  bool streams = true;       ///< else answers come whole: no token is seen before the last
  ModelId model{1};          ///< that clients ask for
  std::size_t pool_requests = 2048;
  Duration pool_timeout = std::chrono::minutes(60);
  peers::PeerOptions peers;
};

/// The router of a box, of the parts that serve: the dispatcher and its policy, with the own engine and every other box
/// as workers; what is known of a peer, as of room peers; the books of what is done for others. Only sockets are
/// missing.
///
/// A request that came from another router is for the own engine alone. If that has no slot for it, it goes back with
/// the load that it found, to where it stood among those that wait; it may wait here only where the sender sends ahead,
/// one for each slot.
class PeerRouter final : public BoxRouter {
 public:
  PeerRouter(PeerWorld& world, std::size_t box, std::unique_ptr<routing::Policy> policy, std::uint64_t seed,
             const PeerRouterOptions& options);
  PeerRouter(const PeerRouter&) = delete;
  PeerRouter& operator=(const PeerRouter&) = delete;
  ~PeerRouter() override;

  void submit(std::size_t request) override;
  void arrive(std::size_t request, std::size_t from) override;
  void token(std::size_t request) override;
  void finished(std::size_t request) override;
  void cancel(std::size_t request) override;
  void tick() override;
  [[nodiscard]] bool empty() const override;

  // What other routers say to this one.
  void token_came(std::size_t request);
  void answered(std::size_t request, std::size_t from, Duration there, const std::optional<peers::News>& news);
  /// Unserved: without a slot it goes on waiting here, refused for another reason it is tried elsewhere.
  void sent_back(std::size_t request, std::size_t from, fleet::Refusal why, const std::optional<peers::News>& news);
  void heard(std::size_t from, const peers::News& news);
  [[nodiscard]] peers::Status status(std::size_t to);
  /// Probes all peers at once and waits for them, as a router does before it serves. Once, when all routers stand.
  void meet();

  /// Its own engine takes nothing on, of anybody, but for what is never shed.
  void set_shedding(bool sheds);
  /// What it tells its peers of itself from now on, in place of the truth or of what is told at first.
  struct Says {
    std::string served_id = "m";
    std::optional<std::string> capacity;  ///< none: not calibrated
    std::optional<std::int64_t> measured_at;
    bool busy = false;  ///< its host is
  };
  [[nodiscard]] Says& says() { return says_; }
  [[nodiscard]] const dispatch::Dispatcher& dispatcher() const { return dispatcher_; }
  [[nodiscard]] const peers::Peer& peer(std::size_t box) const { return *far_[box].peer; }
  /// The last refusal, for its time to come back.
  [[nodiscard]] const std::optional<dispatch::Refused>& refusal() const { return refusal_; }

 private:
  struct Slip;
  /// One request in this router's hands.
  struct Open {
    std::size_t from = 0;  ///< box whose router sent it; this one: a client did
    fleet::Lease lease;
    std::optional<RequestId> queued;
    Time came{};                  ///< here, at first
    Time arrived{};               ///< here, or back here
    Time dispatched{};            ///< from here to a peer
    dispatch::Excluded excluded;  ///< boxes that refused it
    std::optional<dispatch::Returned> returned;
  };
  struct Far {
    std::unique_ptr<peers::Peer> peer;  ///< none for this box itself
    WorkerId worker;
    peers::PeerShare share;  ///< as the dispatcher has it
    std::vector<fleet::RatePoint> rates;
  };

  [[nodiscard]] bool hosts() const { return world_.boxes()[box_].slots() > 0; }
  [[nodiscard]] PeerRouter& at(std::size_t box) { return static_cast<PeerRouter&>(world_.router(box)); }
  void ask(std::size_t request, std::size_t from);
  void granted(std::size_t request, dispatch::Granted granted);
  void refused(std::size_t request, dispatch::Refused refused);
  void forward(std::size_t request, Open& open, std::size_t to);
  /// Ends a request that this router's own engine served or was to serve.
  void leave_engine(Open& open, std::int64_t tokens, fleet::Outcome outcome);
  void send_back(std::size_t request, fleet::Refusal why);
  void tell_release(std::size_t but);
  void probe_who_is_due();
  void probe(std::size_t to);
  void refresh(std::size_t box);
  [[nodiscard]] std::optional<peers::News> news_for(std::size_t box);

  PeerWorld& world_;
  const std::size_t box_;
  const PeerRouterOptions options_;
  dispatch::Dispatcher dispatcher_;
  std::vector<Far> far_;  ///< by box
  peers::Origins origins_;
  std::int64_t serving_ = 0;           ///< requests with the own engine
  std::int64_t arrivals_waiting_ = 0;  ///< from peers, for a slot of it
  std::unordered_map<std::size_t, Open> open_;
  std::optional<dispatch::Refused> refusal_;
  Says says_;
  bool leaving_ = false;  ///< being destroyed: what becomes of requests concerns nobody
};

/// Gives every box of the world such a router, and lets them meet. The policy as make_policy() reads it.
[[nodiscard]] Result<void> set_peer_routers(PeerWorld& world, std::string_view policy, std::uint64_t seed,
                                            const PeerRouterOptions& options);

}  // namespace evenkeel::simulation
