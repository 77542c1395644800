#include "forecast/registry.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "forecast/exact_match.hpp"
#include "forecast/survival.hpp"

namespace evenkeel::forecast {

namespace {

constexpr std::array<std::string_view, 2> names = {"survival", "exact_match"};

}  // namespace

std::span<const std::string_view> forecast_names() { return names; }

Result<std::shared_ptr<Forecast>> make_forecast(std::string_view spec) {
  if (spec == "survival") return std::make_shared<Survival>();
  if (spec == "exact_match") return std::make_shared<ExactMatch>();
  const std::string_view near = nearest_name(spec, names);
  return failure(fmt::format("forecast \"{}\" does not exist{}; allowed: {}", spec,
                             near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(names, ", ")));
}

}  // namespace evenkeel::forecast
