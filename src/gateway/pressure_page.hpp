#pragma once

#include <string>

#include "gateway/pressure_watch.hpp"

namespace evenkeel::gateway {

/// All that the last look found, as JSON, docs/admin-api.md. What is not known is null, with its reason in `not_known`.
/// `cgroups` as worst_cgroups() gives it.
[[nodiscard]] std::string pressure_json(const PressureLook& look, const config::PressureSettings& settings,
                                        const Result<pressure::CgroupStalls>& cgroups, Time now);

/// evenkeel_pressure_*; -1 = not known.
void append_pressure(std::string& out, const PressureLook& look);

}  // namespace evenkeel::gateway
