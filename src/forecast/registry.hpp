#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "forecast/forecast.hpp"

namespace evenkeel::forecast {

/// A forecast by name: survival, exact_match. It knows nothing yet. Errors name what is allowed.
[[nodiscard]] Result<std::shared_ptr<Forecast>> make_forecast(std::string_view spec);
[[nodiscard]] std::span<const std::string_view> forecast_names();

}  // namespace evenkeel::forecast
