#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "peers/peer.hpp"

namespace evenkeel::engines {

/// What another router says of one model that it serves.
struct RouterModel {
  std::string backend;  ///< its own name for what serves it
  std::string served;   ///< id that clients ask for
  peers::Status status;
};

/// What another router says of itself.
struct RouterPage {
  bool evenkeel = false;  ///< of our kind; else a lobes gateway
  std::string name;       ///< of our kind: what it calls itself
  std::string instance;   ///< of our kind: of its process
  std::vector<RouterModel> models;
};

inline constexpr std::size_t max_router_models = 256;

/// The answer to GET /status: of our kind what stands in its object `evenkeel`, else its list `backends`, in the shape
/// of lobes-cli 0.67. An error if it is no such page or over its bounds. A single figure that cannot be (negative, no
/// number, a JSON with NaN in it) is not read, and its row stays; a capacity is handed on as it stands. `as_lobes`: an
/// object `evenkeel` is passed over.
[[nodiscard]] Result<RouterPage> read_router_status(std::string_view body, bool as_lobes = false);

/// Puts the fingerprints that the answer to GET /capabilities tells of a lobes gateway's roles into `page`. What it
/// calls "unknown" stays unknown; a served id and a window that it serves count before its status.
[[nodiscard]] Result<void> read_router_capabilities(std::string_view body, RouterPage& page);

}  // namespace evenkeel::engines
