#pragma once

#include <string>

#include "base/ids.hpp"

namespace evenkeel::gateway {

/// A declared peer: its place in the settings' list.
using PeerNumber = Id<struct PeerKind>;

/// What an upstream that is another router has besides its address. Its Upstream::authorization is the key that this
/// router was given for it, never a client's.
struct PeerLink {
  PeerNumber number;
  bool evenkeel =
      true;            ///< of our kind: it sends back what it has no slot for, and tells its load; else a lobes gateway
  std::string origin;  ///< http://host:port[/base] of its public port
  std::string hop_field;  ///< the whole field line that marks what is forwarded to it
};

/// Marks of requests and answers between routers; none of them is ever passed on as it came.
namespace peer_field {
inline constexpr std::string_view hop = "X-Evenkeel-Hop";              ///< who forwards
inline constexpr std::string_view lobes_hop = "X-Lobes-Proxied";       ///< the same, from or to a lobes gateway
inline constexpr std::string_view ahead = "X-Evenkeel-Ahead";          ///< "1": it may wait for a slot there
inline constexpr std::string_view sent_back = "X-Evenkeel-Sent-Back";  ///< "1": there was no slot for it
inline constexpr std::string_view load = "X-Evenkeel-Load";            ///< see write_load()
}  // namespace peer_field

}  // namespace evenkeel::gateway
