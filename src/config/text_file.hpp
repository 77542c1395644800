#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace evenkeel::config {

/// The contents of a file of up to 4 MiB. Errors name `flag`.
[[nodiscard]] Result<std::string> read_text_file(std::string_view flag, const std::string& path);

}  // namespace evenkeel::config
