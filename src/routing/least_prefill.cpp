#include "routing/least_prefill.hpp"

#include <algorithm>
#include <limits>

namespace evenkeel::routing {

PerRequestPolicy::Choice LeastPrefill::choose(const fleet::WaitingView& request,
                                              std::span<const std::uint32_t> candidates, const fleet::FleetView& fleet,
                                              Random& random) {
  const auto owed = [&](std::uint32_t index) {
    return fleet.workers[index].load.queued_prompt + request.to_compute(index);
  };
  Tokens least = owed(candidates.front());
  for (const std::uint32_t index : candidates) least = std::min(least, owed(index));
  // Requests of others are told in numbers only, so they count among equals.
  Choice chosen = cheapest(candidates, fleet, random, "least_prefill", [&](const fleet::WorkerView& worker) {
    const auto index = static_cast<std::uint32_t>(&worker - fleet.workers.data());
    return owed(index) > least ? std::numeric_limits<double>::max() : worker.requests();
  });
  chosen.score = least.as_double();
  return chosen;
}

}  // namespace evenkeel::routing
