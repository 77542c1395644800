#pragma once

#include <string_view>

#include "routing/departures.hpp"
#include "routing/policy.hpp"

namespace evenkeel::routing {

/// `horizon`, steps to look ahead: 0 to 1,024, 80 if not given.
[[nodiscard]] std::int64_t read_horizon(Parameters& parameters);
/// With the `forecast` that the parameters name (survival if none), made by the parts, or by the room forecast if they
/// make none; one for each model, guarded unless `guard` is off. The guard asks about half the horizon: far enough that
/// requests end within it, near enough that a request in service is asked about often.
[[nodiscard]] Result<Departures> make_departures(Parameters& parameters, const PolicyParts& parts, std::int64_t horizon,
                                                 std::int64_t refresh);

}  // namespace evenkeel::routing
