#include "gateway/request_peers.hpp"

#include "base/text.hpp"
#include "gateway/head_writer.hpp"
#include "gateway/request.hpp"
#include "http/loop.hpp"

namespace evenkeel::gateway {

bool speaks_for_router(std::string_view name) {
  if ((name.front() | 0x20) != 'x') return false;
  // Stickiness is the client's own, and so is what it says of its answer's length.
  if (goes_on_from("x-lobes-", name)) return !equals_ignoring_case(name, "x-lobes-affinity");
  return goes_on_from("x-evenkeel-", name) && !equals_ignoring_case(name, "x-evenkeel-heavy");
}

void write_to_peer(HeadWriter& out, const PeerLink& link, const Request& request) {
  out << link.hop_field;
  if (link.evenkeel && request.peers->there.ahead()) out << peer_field::ahead << ": 1\r\n";
}

void write_back_to_peer(HeadWriter& out, const Request& request) {
  const RequestPeers& peers = *request.peers;
  if (!peers.from) return;
  if (!peers.from_evenkeel) {
    out << "X-Lobes-Served-By: " << peers.board.self().name << "\r\nX-Lobes-Route-Reason: sole-ready\r\n";
  } else if (peers.placeable) {
    const Duration took = peers.loop.now() - request.arrived;
    out << peer_field::load << ": " << write_load(peers.board.load_for(*peers.from, request.model, took)) << "\r\n";
  }
}

}  // namespace evenkeel::gateway
