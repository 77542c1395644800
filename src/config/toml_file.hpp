#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "config/settings.hpp"

namespace evenkeel::config {

/// Puts what a TOML text says over `settings`. `between` runs after the scalars and before the models,
/// because a model's timeouts default to the fleet's as they stand then. Errors begin with
/// source:line:column. An unknown key is one, with the nearest name there is.
[[nodiscard]] Result<void> apply_toml(std::string_view text, const std::string& source, ServeSettings& settings,
                                      const std::function<Result<void>()>& between);

}  // namespace evenkeel::config
