#pragma once

#include <string_view>

#include "base/error.hpp"

namespace evenkeel::planning {

/// Three ways to say how safe a reserve must be. All give the probability that it suffices for one window; errors say
/// what was given and what is allowed.

/// A number over 0 and under 1, or a fraction such as "32/33".
[[nodiscard]] Result<double> level_of_text(std::string_view text);
/// The critical fractile under / (under + over) of costs "under:over" of one unit short and one unit idle (Arrow,
/// Harris and Marschak 1951), such as "32:1".
[[nodiscard]] Result<double> level_of_cost_ratio(std::string_view text);
/// So many windows a month that the reserve does not suffice, with windows one after the other.
[[nodiscard]] Result<double> level_of_breaches_per_month(double breaches, double window_s);

[[nodiscard]] double breaches_per_month(double level, double window_s);

}  // namespace evenkeel::planning
