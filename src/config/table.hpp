#pragma once

#include <span>

#include "config/setting.hpp"
#include "config/settings.hpp"

namespace evenkeel::config {

// The declarative tables: flags, file, --print-config, limits and docs/configuration.md all come from them.

/// Every scalar and list of `evenkeel serve`, grouped by table, the top level first.
[[nodiscard]] std::span<const Setting<ServeSettings>> serve_table();
/// Keys of one [[workers]] entry.
[[nodiscard]] std::span<const Setting<WorkerSetting>> worker_table();
/// Keys of one [[peers]] entry.
[[nodiscard]] std::span<const Setting<PeerSetting>> peer_table();
/// Keys of one [[models]] entry besides `timeouts`.
[[nodiscard]] std::span<const Setting<ModelSetting>> model_table();
/// Keys of [timeouts] and of a model's `timeouts`.
[[nodiscard]] std::span<const Setting<Timeouts>> timeout_table();

}  // namespace evenkeel::config
