#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "engines/router_page.hpp"
#include "gateway/fleet_control.hpp"
#include "gateway/peer_board.hpp"
#include "http/client.hpp"
#include "http/loop.hpp"

namespace evenkeel::gateway {

/// Asks peers what they serve and how they are, and tells those of our kind when a slot is free here. One fiber a peer,
/// so that one that hangs delays nobody else's row. What they answer goes to the board, and which of their models are
/// to be had here to the fleet's map. Control thread only.
class PeerControl {
 public:
  PeerControl(const config::ServeSettings& settings, http::EventLoop& loop, PeerBoard& board, FleetControl& fleet);

  void start();
  /// Ends the probes; the loop can then run out.
  void stop();

 private:
  struct Box {
    PeerNumber number;
    http::Url url;
    http::Address address;
    std::string origin;
    std::string authorization;
    http::ConnectionPool connections{{}};
    std::map<ModelId, std::string> backends;  ///< its names for what serves them
    std::set<ModelId> releases;               ///< of which it must be told
    bool telling = false;
    int lost_in_a_row = 0;
    std::string instance;
    std::string complaint;  ///< as it was last said to people
    http::Fiber* fiber = nullptr;
  };
  using BoxPtr = std::shared_ptr<Box>;

  http::Task<void> watch(http::Fiber& fiber, BoxPtr box);
  http::Task<void> tick(http::Fiber& fiber);
  http::Task<void> probe(http::Fiber& fiber, Box& box);
  http::Task<http::FetchResult> get(http::Fiber& fiber, Box& box, std::string_view path, Time deadline);
  [[nodiscard]] http::ClientRequest request_to(const Box& box, std::string_view path) const;
  [[nodiscard]] bool resolve(Box& box);
  void lost(Box& box, std::string why);
  /// Why a router that answered so must not be used, or "".
  [[nodiscard]] std::string unusable(const Box& box, const engines::RouterPage& page) const;
  void take(Box& box, const engines::RouterPage& page);
  [[nodiscard]] bool wanted(const Box& box, const std::string& served) const;
  [[nodiscard]] const HostedModel* hosted(ModelId model) const;
  void join(const Box& box, ModelId model, const engines::RouterModel& told);
  void follow_hosted();
  /// Tells the board what the peers of each model are compared with.
  void choose_references();
  void list_models();
  void complain(Box& box, const std::string& what);

  void send_releases();
  http::Task<void> tell_releases(http::Fiber& fiber, BoxPtr box);

  const config::ServeSettings& settings_;
  http::EventLoop& loop_;
  PeerBoard& board_;
  FleetControl& fleet_;
  std::vector<BoxPtr> boxes_;  ///< by PeerNumber
  std::vector<HostedModel> hosted_;
  bool stopped_ = false;
};

}  // namespace evenkeel::gateway
