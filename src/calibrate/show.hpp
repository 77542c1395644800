#pragma once

#include <string>

#include "calibrate/calibration.hpp"

namespace evenkeel::calibrate {

/// What was measured, for a person: what the engine is, a row a level, and the knee with its reason.
[[nodiscard]] std::string to_text(const Calibration& calibration);
/// The rate curve, and where the knee lies on it.
[[nodiscard]] std::string to_svg(const Calibration& calibration);
/// Why a result cannot be used, and what to do.
[[nodiscard]] std::string why_unusable(const Calibration& calibration);

}  // namespace evenkeel::calibrate
