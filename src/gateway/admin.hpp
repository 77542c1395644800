#pragma once

#include <functional>
#include <string>

#include "gateway/fleet_control.hpp"
#include "gateway/peer_board.hpp"
#include "http/server.hpp"

namespace evenkeel::gateway {

class PressureWatch;

/// The operator's API: workers, peers, the waiting pool, the box, metrics. Runs on the control loop.
class Admin {
 public:
  /// `peers` is null where none is declared, `pressure` where it is not looked at.
  Admin(FleetControl& control, dispatch::Dispatcher& dispatcher, Breakers& breakers, const PeerBoard* peers,
        const PressureWatch* pressure, std::function<std::string()> metrics)
      : control_(control),
        dispatcher_(dispatcher),
        breakers_(breakers),
        peers_(peers),
        pressure_(pressure),
        metrics_(std::move(metrics)) {}

  http::Task<void> handle(http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder);

 private:
  struct Answer {
    int status = 200;
    std::string body;
    std::string_view type = "application/json";
  };
  [[nodiscard]] Answer answer(const http::ServerRequest& request, Time now);
  [[nodiscard]] std::string list_workers() const;
  [[nodiscard]] std::string show_pool() const;
  [[nodiscard]] std::string show_pressure(Time now) const;
  [[nodiscard]] Answer add_worker(const std::string& body);
  [[nodiscard]] Answer change_worker(std::string_view name, const std::string& body);

  FleetControl& control_;
  dispatch::Dispatcher& dispatcher_;
  Breakers& breakers_;
  const PeerBoard* const peers_;
  const PressureWatch* pressure_;
  std::function<std::string()> metrics_;
};

}  // namespace evenkeel::gateway
