#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "planning/fleet_plan.hpp"

namespace evenkeel::config {

/// A fleet to plan for, from TOML (docs/planning.md has the keys). `source` names the text in errors, which begin with
/// source:line:column; an unknown key is one, with the nearest name there is. The plan has passed its check().
[[nodiscard]] Result<planning::FleetPlan> read_plan(std::string_view text, const std::string& source);

}  // namespace evenkeel::config
