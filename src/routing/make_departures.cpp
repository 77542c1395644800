#include "routing/make_departures.hpp"

#include "forecast/registry.hpp"

namespace evenkeel::routing {

std::int64_t read_horizon(Parameters& parameters) { return parameters.integer("horizon", 80, 0, 1024); }

Result<Departures> make_departures(Parameters& parameters, const PolicyParts& parts, std::int64_t horizon,
                                   std::int64_t refresh) {
  const std::string_view name = parameters.text("forecast", "survival");
  auto made = parts.forecast ? parts.forecast(name) : forecast::make_forecast(name);
  if (!made) return tl::unexpected(made.error());
  return Departures(std::move(*made), horizon, refresh);
}

}  // namespace evenkeel::routing
