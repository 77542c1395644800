#include "peers/reason.hpp"

namespace evenkeel::peers {

RouteReason reason_of(const Placed& placed) {
  if (!placed.somewhere) return RouteReason::none;
  if (placed.came_from_peer) return RouteReason::sole_ready;
  if (placed.by_affinity) return RouteReason::affinity;
  if (placed.here) return placed.here_before == 0 ? RouteReason::local_idle : RouteReason::sole_ready;
  if (placed.hosts && placed.shedding) return RouteReason::local_busy_forwarded;
  const bool alone = placed.peers_usable <= 1 && !placed.hosts;
  return alone ? RouteReason::sole_ready : RouteReason::peer_less_loaded;
}

}  // namespace evenkeel::peers
