#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evenkeel::simulation {

/// Charts of report::to_svg() as one SVG, side by side in rows of `columns`.
[[nodiscard]] std::string tiled_charts(const std::vector<std::string>& charts, std::size_t columns);

}  // namespace evenkeel::simulation
