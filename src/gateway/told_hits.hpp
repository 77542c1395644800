#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "dispatch/submission.hpp"
#include "gateway/fleet_map.hpp"

namespace evenkeel::gateway {

/// Prompts of more tokens are not looked up.
inline constexpr std::size_t most_told_tokens = std::size_t{1} << 20U;

/// The ids in a JSON list of token ids; nothing if something else is in it, or more than so many.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> read_token_ids(std::string_view json,
                                                                       std::size_t most = most_told_tokens);

/// What each worker whose KV events are alive holds of a prompt given as a JSON list of token ids; null if there is
/// none, or if the model is an adapter, whose blocks are others. Some ten nanoseconds a token, microseconds a worker.
[[nodiscard]] std::shared_ptr<const dispatch::ToldHits> told_hits(const FleetMap& fleet, ModelId model,
                                                                  std::string_view ids);

}  // namespace evenkeel::gateway
