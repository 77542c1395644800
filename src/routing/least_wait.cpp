#include "routing/least_wait.hpp"

#include <algorithm>

namespace evenkeel::routing {

namespace {
/// Mean rate of the candidates that know theirs, at `running` requests; 0 if none does.
double mean_rate(std::span<const std::uint32_t> candidates, const fleet::FleetView& fleet, double running) {
  double sum = 0;
  int known = 0;
  for (const std::uint32_t index : candidates) {
    const double rate = fleet.workers[index].rate->at(running);
    if (rate <= 0) continue;
    sum += rate;
    ++known;
  }
  return known > 0 ? sum / known : 0;
}
}  // namespace

PerRequestPolicy::Choice LeastWait::choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                                           const fleet::FleetView& fleet, Random& random) {
  const bool any_known = std::any_of(candidates.begin(), candidates.end(),
                                     [&](std::uint32_t index) { return fleet.workers[index].rate->known(); });
  double mean_for = 0, mean = 0;  // the unknown ones mostly ask for the same concurrency
  return cheapest(candidates, fleet, random, "least_wait", [&](const fleet::WorkerView& worker) {
    const double open = worker.requests();
    const double there = open * worker.mean_output + fleet.prompt_weight * worker.load.queued_prompt.as_double();
    const auto index = static_cast<std::uint32_t>(&worker - fleet.workers.data());
    const double own = worker.mean_output + fleet.prompt_weight * request.to_compute(index).as_double();
    double rate = worker.rate->at(open + 1);
    if (rate <= 0 && any_known) {
      if (mean_for != open + 1) {
        mean_for = open + 1;
        mean = mean_rate(candidates, fleet, mean_for);
      }
      rate = mean;
    }
    const double work = there + own + open * own;
    return rate > 0 ? work / rate : work;
  });
}

}  // namespace evenkeel::routing
