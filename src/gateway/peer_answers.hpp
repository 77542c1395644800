#pragma once

#include <string>

#include "gateway/client_side.hpp"
#include "gateway/request.hpp"
#include "gateway/shard.hpp"

namespace evenkeel::gateway {

// What peers read here and tell. All want Shared::peers.

/// Body of GET /status. A peer that is known by its marker finds in it how much of the load is its own.
[[nodiscard]] std::string peer_status(Shard& shard, const ClientSide& client, const Request& request);
/// Body of GET /capabilities.
[[nodiscard]] std::string peer_capabilities(Shard& shard);
/// Answers POST /peers/news: 204, 400 for what is no news, and for who is no peer what any unknown path answers.
void take_peer_news(Shard& shard, ClientSide& client, Request& request);

}  // namespace evenkeel::gateway
