#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <tl/expected.hpp>

#include "emulator/api_error.hpp"

namespace evenkeel::emulator {

/// The rank that a header X-data-parallel-rank names among `ranks`. vLLM ignores a value that is no whole number and
/// refuses one that is out of range, a negative one too: 400.
[[nodiscard]] tl::expected<std::optional<std::size_t>, ApiError> asked_rank(std::optional<std::string_view> header,
                                                                            std::size_t ranks);

}  // namespace evenkeel::emulator
