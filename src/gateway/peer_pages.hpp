#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/lane.hpp"
#include "gateway/hosted_model.hpp"
#include "gateway/peer_board.hpp"

namespace evenkeel::gateway {

/// The box's pressure as peers of the lobes kind read it.
struct PressureWords {
  std::string mode;  ///< warm, busy, unknown
  bool shed = false;
  std::string reason;
  std::optional<double> swap_used_percent;
  std::optional<double> iowait_percent;
};

/// What the pages below are made of: all of one instant.
struct RouterFacts {
  struct Served {
    HostedModel model;
    dispatch::Lane lane;
    std::vector<fleet::RatePoint> rates;  ///< of the lane
    std::optional<PeerLoad> load;         ///< for the peer that asks, if a peer does
  };
  SelfIdentity self;
  std::int64_t now_ms = 0;  ///< Unix time
  bool publishes_capacity = true;
  bool sheds = false;  ///< own engines take nothing on but what is never shed
  std::vector<Served> served;
  std::optional<PressureWords> pressure;
};

/// GET /status in the shape of lobes-cli 0.67, with an object `evenkeel` of our own. A capacity is there only where
/// somebody said it.
[[nodiscard]] std::string status_page(const RouterFacts& facts);

/// Replicas of the models that are shared: what is served here, and what peers serve.
struct ReplicaFacts {
  RouterFacts here;
  std::vector<std::string> origins;               ///< by PeerNumber
  std::vector<PeerBoard::Row> rows;               ///< of all models
  std::vector<std::vector<std::string>> aliases;  ///< by row: of its model
};

/// GET /capabilities, the same: an object a role, which is an alias of a model, or its id where it has none.
[[nodiscard]] std::string capabilities_page(const ReplicaFacts& facts);

}  // namespace evenkeel::gateway
