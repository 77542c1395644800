#include "simulation/policies.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "forecast/registry.hpp"

namespace evenkeel::simulation {

Result<std::unique_ptr<routing::Policy>> make_policy(const routing::PolicySpec& spec,
                                                     std::shared_ptr<const Fates> fates) {
  routing::PolicyParts parts;
  parts.forecast = [fates = std::move(fates)](std::string_view name) -> Result<forecast::ForecastMaker> {
    if (name == "oracle") return [fates] { return std::make_shared<OracleForecast>(fates); };
    const auto names = forecast::forecast_names();
    const auto kind = [](std::string_view text) { return text.substr(0, text.find(':')); };
    const bool known = std::any_of(names.begin(), names.end(), [&](auto each) { return kind(each) == kind(name); });
    return forecast::forecast_maker(name).map_error([known](Error error) {
      if (!known) error.message += "; oracle in a simulation";
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
