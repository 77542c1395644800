#include "routing/make_departures.hpp"

#include "forecast/registry.hpp"

namespace evenkeel::routing {

std::int64_t read_horizon(Parameters& parameters) { return parameters.integer("horizon", 80, 0, 1024); }

Result<Departures> make_departures(Parameters& parameters, const PolicyParts& parts, std::int64_t horizon,
                                   std::int64_t refresh) {
  const std::string_view name = parameters.text("forecast", "survival");
  const bool guarded = parameters.flag("guard", true);
  auto make = parts.forecast ? parts.forecast(name) : forecast::forecast_maker(name);
  if (!make) return tl::unexpected(make.error());
  if (horizon == 0) return Departures(nullptr, 0, refresh);
  forecast::ByModel::Options options;
  options.guard_tokens = guarded ? (horizon + 1) / 2 : 0;
  return Departures(std::make_shared<forecast::ByModel>(std::move(*make), options), horizon, refresh);
}

}  // namespace evenkeel::routing
