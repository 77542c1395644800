#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "gateway/peer_board.hpp"
#include "http/message.hpp"

namespace evenkeel::http {
class EventLoop;
}

namespace evenkeel::gateway {

struct Request;
class HeadWriter;

/// What a router that has peers keeps of each request: where it came from, and where it is.
struct RequestPeers {
  RequestPeers(PeerBoard& of, const http::EventLoop& on) : board(of), loop(on) {}

  PeerBoard& board;
  const http::EventLoop& loop;
  std::optional<PeerNumber> from;  ///< the peer that forwarded it here: it stays here
  bool from_evenkeel = true;       ///< that is of our kind
  bool ahead = false;              ///< that says there was no slot for it here when it was sent
  bool placeable = false;          ///< its model was read: it has a place in the books of that
  Time submitted{};                ///< to the dispatcher, for the first time
  PeerBoard::TakenOn here;         ///< while it is taken on for a peer
  PeerBoard::Dispatch there;       ///< while it is at one
  int returns = 0;                 ///< times that a peer has sent it back
  std::string failed;              ///< a JSON object for each attempt that failed, with commas between them
};

/// Whether a field of a request that a client sent says something between routers: no engine may see it, and no other
/// router may take it for our word. `name` is not empty.
[[nodiscard]] bool speaks_for_router(std::string_view name);

/// Fields that mark what goes to the peer.
void write_to_peer(HeadWriter& out, const PeerLink& link, const Request& request);
/// Fields on what goes back to the peer that the request came from; nothing for other requests.
void write_back_to_peer(HeadWriter& out, const Request& request);

}  // namespace evenkeel::gateway
