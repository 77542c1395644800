#pragma once

#include <span>
#include <string>

#include "simulation/peer_run.hpp"

namespace evenkeel::simulation {

/// One JSON object: the setting, what each box does with one request and with all slots busy, `runs` (one for each
/// burst of each policy) and `policies` (over the bursts). docs/simulate.md has the keys.
[[nodiscard]] std::string peers_json(const PeersSetting& setting, std::span<const PeersResult> results);

/// The same for people: of more than `shown` bursts of a policy only what they have in common is told.
[[nodiscard]] std::string peers_table(const PeersSetting& setting, std::span<const PeersResult> results,
                                      std::size_t shown = 10);

}  // namespace evenkeel::simulation
