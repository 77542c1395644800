#pragma once

#include <span>
#include <string>

#include "simulation/batch.hpp"

namespace evenkeel::simulation {

/// One SVG: for each policy the KV tokens of every worker over the steps of its first seed (arXiv 2601.17855, figure
/// 4), then bars that compare the policies. The runs must have been made with Setting::trajectory_points.
[[nodiscard]] std::string comparison_svg(std::span<const Summary> summaries);

}  // namespace evenkeel::simulation
