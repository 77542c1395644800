#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "forecast/forecast.hpp"

namespace evenkeel::forecast {

/// A forecast by name: survival, exact_match, or learned:FILE with a model that `evenkeel forecast train` wrote. It has
/// heard of no request yet. Errors name what is allowed, or what is wrong with the file.
[[nodiscard]] Result<std::shared_ptr<Forecast>> make_forecast(std::string_view spec);
/// As they are written in help and errors.
[[nodiscard]] std::span<const std::string_view> forecast_names();

}  // namespace evenkeel::forecast
