#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace evenkeel::peers {

/// Why a request between peers went where it went. A closed list, by the names that gateways of this kind use.
enum class RouteReason : std::uint8_t {
  none,                  ///< nobody could take it
  local_idle,            ///< here, where nothing else was in service
  sole_ready,            ///< the only one that could: here at work already, or a peer alone; or it came from a peer
  peer_less_loaded,      ///< a peer, which was to be done with it sooner
  local_busy_forwarded,  ///< a peer, as this box takes nothing on
  affinity,              ///< where its session is at home
};
inline constexpr std::array all_route_reasons = {RouteReason::none,
                                                 RouteReason::local_idle,
                                                 RouteReason::sole_ready,
                                                 RouteReason::peer_less_loaded,
                                                 RouteReason::local_busy_forwarded,
                                                 RouteReason::affinity};
[[nodiscard]] constexpr std::string_view to_string(RouteReason reason) {
  constexpr std::array<std::string_view, all_route_reasons.size()> names = {
      "none", "local-idle", "sole-ready", "peer-less-loaded", "local-busy-forwarded", "affinity"};
  return names[static_cast<std::size_t>(reason)];
}

/// What was the case when a request was placed.
struct Placed {
  bool somewhere = true;
  bool here = false;            ///< on this box's own engine
  bool came_from_peer = false;  ///< so it had to stay here
  bool by_affinity = false;
  bool hosts = true;              ///< this box has an engine of its own for it
  bool shedding = false;          ///< and takes nothing on
  bool here_was_full = false;     ///< before it
  std::int64_t here_before = 0;   ///< requests in service here before it
  std::int64_t peers_usable = 0;  ///< that could have been chosen, but for slots
};
[[nodiscard]] RouteReason reason_of(const Placed& placed);

}  // namespace evenkeel::peers
