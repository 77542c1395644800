#pragma once

#include <span>
#include <string_view>

#include "base/error.hpp"
#include "engine/config.hpp"

namespace evenkeel::engine {

/// A complete engine under a name. Values are inferred from public measurements (see presets.cpp), good
/// for comparing fleets, not for promising a latency.
struct EnginePreset {
  std::string_view name;
  std::string_view what;
  StepLaw law;
  std::int64_t slots;
  std::int64_t step_token_budget;
  Tokens kv_capacity;

  [[nodiscard]] EngineConfig config() const;
};

[[nodiscard]] std::span<const EnginePreset> presets();

/// Error: the name is unknown; the message tells the nearest one and all there are.
[[nodiscard]] Result<EngineConfig> preset(std::string_view name);

}  // namespace evenkeel::engine
