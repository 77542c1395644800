#include "forecast/registry.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "forecast/exact_match.hpp"
#include "forecast/learned.hpp"
#include "forecast/survival.hpp"

namespace evenkeel::forecast {

namespace {

constexpr std::array<std::string_view, 3> names = {"survival", "exact_match", "learned:FILE"};

}  // namespace

std::span<const std::string_view> forecast_names() { return names; }

Result<ForecastMaker> forecast_maker(std::string_view spec) {
  if (spec == "survival") return [] { return std::make_shared<Survival>(); };
  if (spec == "exact_match") return [] { return std::make_shared<ExactMatch>(); };
  constexpr std::string_view learned = "learned";
  if (spec.starts_with(learned) && (spec.size() == learned.size() || spec[learned.size()] == ':')) {
    if (spec.size() <= learned.size() + 1) {
      return failure(
          fmt::format("forecast \"{}\" names no model; allowed: learned:FILE, as `evenkeel forecast train` "
                      "writes it",
                      spec));
    }
    auto model = read_learned_model(std::string(spec.substr(learned.size() + 1)));
    if (!model) return failure(fmt::format("forecast \"{}\": {}", spec, model.error().message));
    return
        [trees = std::make_shared<const LearnedModel>(std::move(*model))] { return std::make_shared<Learned>(trees); };
  }
  const std::string_view near = nearest_name(spec, names);
  return failure(fmt::format("forecast \"{}\" does not exist{}; allowed: {}", spec,
                             near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(names, ", ")));
}

Result<std::shared_ptr<Forecast>> make_forecast(std::string_view spec) {
  return forecast_maker(spec).map([](const ForecastMaker& make) { return make(); });
}

}  // namespace evenkeel::forecast
