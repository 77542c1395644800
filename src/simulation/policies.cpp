#include "simulation/policies.hpp"

#include <string_view>
#include <utility>

#include "forecast/registry.hpp"

namespace evenkeel::simulation {

Result<std::unique_ptr<routing::Policy>> make_policy(const routing::PolicySpec& spec,
                                                     std::shared_ptr<const Fates> fates) {
  routing::PolicyParts parts;
  parts.forecast = [fates = std::move(fates)](std::string_view name) -> Result<std::shared_ptr<forecast::Forecast>> {
    if (name == "oracle") return std::make_shared<OracleForecast>(fates);
    return forecast::make_forecast(name).map_error([](Error error) {
      error.message += ", oracle";  // the list of those allowed goes on
      return error;
    });
  };
  return routing::make_policy(spec, parts);
}

Result<void> check_policy(const routing::PolicySpec& spec) {
  if (auto made = make_policy(spec, std::make_shared<Fates>()); !made) return tl::unexpected(made.error());
  return {};
}

}  // namespace evenkeel::simulation
