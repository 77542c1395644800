#include "routing/ioh.hpp"

#include "routing/make_departures.hpp"

namespace evenkeel::routing {

void Ioh::begin(const fleet::FleetView& fleet, Time now) {
  departures_.look(fleet, now);
  projection_.build(fleet, departures_.window(),
                    [&](const fleet::RunningView& request) { return departures_.leaves_at(request); });
  looks_ = 200'000;
}

JointPolicy::Solution Ioh::solve(std::vector<Pick>& picks) {
  const PlacementSearch::Found found = search_.run(projection_, slots(), window(), looks_);
  for (std::uint32_t i = 0; i < found.workers.size(); ++i) {
    if (found.workers[i] != PlacementSearch::nowhere) picks.push_back({i, found.workers[i]});
  }
  return {found.proven ? "exact" : "best_found", found.cost};
}

Result<std::unique_ptr<Policy>> make_ioh(Parameters& parameters, const PolicyParts& parts) {
  const auto window = static_cast<std::size_t>(parameters.integer("window", 8, 1, JointPolicy::widest_window));
  const double gamma = parameters.number("gamma", 0.86, 0.001, 1);
  const std::int64_t horizon = read_horizon(parameters);
  auto departures = make_departures(parameters, parts, horizon, 1);
  if (!departures) return tl::unexpected(departures.error());
  return std::make_unique<Ioh>(window, gamma, std::move(*departures));
}

}  // namespace evenkeel::routing
