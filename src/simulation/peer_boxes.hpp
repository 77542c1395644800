#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fleet/boxes.hpp"
#include "simulation/bounds.hpp"

namespace evenkeel::simulation {

/// A router with an engine by its rate table (engine::RateLaw); without rates a router alone, which hosts nothing.
using fleet::Box;
using fleet::Split;

namespace bounds {
inline constexpr Whole boxes{1, 9};  ///< a request can be kept from eight workers
inline constexpr Whole burst{1, 2048};
inline constexpr Whole burst_tokens{1, 100'000};
}  // namespace bounds

/// "18.18,50.71;49.24,87.82": boxes by semicolons (fleet::parse_box). Errors name the box and what is allowed.
[[nodiscard]] Result<std::vector<Box>> parse_boxes(std::string_view text);

}  // namespace evenkeel::simulation
