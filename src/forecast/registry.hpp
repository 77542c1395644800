#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "forecast/forecast.hpp"

namespace evenkeel::forecast {

/// Makes forecasts of one kind, each of which has heard of no request yet. Cannot fail and reads no file.
using ForecastMaker = std::function<std::shared_ptr<Forecast>()>;

/// Forecasts by name: survival, exact_match, or learned:FILE with a model that `evenkeel forecast
/// train` wrote, which is read now. Errors name what is allowed, or what is wrong with the file.
[[nodiscard]] Result<ForecastMaker> forecast_maker(std::string_view spec);
/// One of them.
[[nodiscard]] Result<std::shared_ptr<Forecast>> make_forecast(std::string_view spec);
/// As they are written in help and errors.
[[nodiscard]] std::span<const std::string_view> forecast_names();

}  // namespace evenkeel::forecast
