#pragma once

#include "base/error.hpp"
#include "config/settings.hpp"

namespace evenkeel::config {

// Files of `evenkeel calibrate`, as check() looks at them; calibration() of load.hpp reads one.

/// Gives each file of `calibrations` to the worker that it was measured at, by its url.
[[nodiscard]] Result<void> hand_out_calibrations(ServeSettings& settings);
/// Whether the worker can have the file that it has, and the file is good.
[[nodiscard]] Result<void> check_calibration(const WorkerSetting& worker);

}  // namespace evenkeel::config
