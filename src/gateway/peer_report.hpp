#pragma once

#include <string>

#include "gateway/peer_board.hpp"

namespace evenkeel::gateway {

// What is known of peers, for the operator. Thread-safe.

/// GET /peers of the admin API: a list of peers, each with the models that are shared with it.
[[nodiscard]] std::string peers_json(const PeerBoard& board);
/// The same as a table: a line for each peer and model.
[[nodiscard]] std::string peers_table(const PeerBoard& board);
/// For the metrics page.
[[nodiscard]] std::string peer_metrics(const PeerBoard& board);

}  // namespace evenkeel::gateway
