#pragma once

#include <string_view>

#include "base/error.hpp"
#include "config/settings.hpp"

namespace evenkeel::config {

/// 1 to 128 letters, digits and `more`.
[[nodiscard]] bool is_token(std::string_view text, std::string_view more);
/// What names of workers and of peers may have besides letters and digits.
inline constexpr std::string_view name_signs = "._:-[]";

/// Peers that cannot be, settings of peers that have no effect. Fills in their default names. Workers and models have
/// passed their checks.
[[nodiscard]] Result<void> check_peers(ServeSettings& settings);

/// Settings of pressure that have no effect, and roots that have no /proc. Looks at the disk.
[[nodiscard]] Result<void> check_pressure(const ServeSettings& settings);

}  // namespace evenkeel::config
