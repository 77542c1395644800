#include "routing/simple.hpp"

#include <algorithm>

namespace evenkeel::routing {

namespace {
double requests_at(const fleet::WorkerView& worker) { return worker.requests(); }
}  // namespace

PerRequestPolicy::Choice RandomChoice::choose(const fleet::WaitingView&, std::span<const std::uint32_t> candidates,
                                              const fleet::FleetView&, Random& random) {
  return {candidates[random.below(candidates.size())], "random", 0};
}

PerRequestPolicy::Choice RoundRobin::choose(const fleet::WaitingView& request,
                                            std::span<const std::uint32_t> candidates, const fleet::FleetView& fleet,
                                            Random&) {
  std::uint32_t next = candidates.front();  // the view is in order of id: wrap to the first
  const auto last = last_.find(request.model);
  if (last != last_.end()) {
    const auto after = std::find_if(candidates.begin(), candidates.end(),
                                    [&](std::uint32_t index) { return fleet.workers[index].id > last->second; });
    if (after != candidates.end()) next = *after;
  }
  last_.insert_or_assign(last, request.model, fleet.workers[next].id);
  return {next, "next", 0};
}

PerRequestPolicy::Choice PowerOfTwo::choose(const fleet::WaitingView&, std::span<const std::uint32_t> candidates,
                                            const fleet::FleetView& fleet, Random& random) {
  if (candidates.size() == 1) return {candidates[0], "only", requests_at(fleet.workers[candidates[0]])};
  const std::uint64_t first = random.below(candidates.size());
  std::uint64_t second = random.below(candidates.size() - 1);
  if (second >= first) ++second;
  const std::uint32_t pair[] = {candidates[first], candidates[second]};
  return cheapest(pair, fleet, random, "less_loaded_of_two", requests_at);
}

PerRequestPolicy::Choice LeastRequests::choose(const fleet::WaitingView&, std::span<const std::uint32_t> candidates,
                                               const fleet::FleetView& fleet, Random& random) {
  return cheapest(candidates, fleet, random, "least_requests", requests_at);
}

PerRequestPolicy::Choice LeastTokens::choose(const fleet::WaitingView&, std::span<const std::uint32_t> candidates,
                                             const fleet::FleetView& fleet, Random& random) {
  return cheapest(candidates, fleet, random, "least_tokens", [](const fleet::WorkerView& worker) {
    return (worker.load.kv_tokens() + worker.load.queued_prompt + worker.foreign_tokens).as_double();
  });
}

PerRequestPolicy::Choice LongestPrefix::choose(const fleet::WaitingView& request,
                                               std::span<const std::uint32_t> candidates, const fleet::FleetView& fleet,
                                               Random& random) {
  Tokens longest;
  for (const std::uint32_t index : candidates) longest = std::max(longest, request.hit(index));
  longest_.clear();
  for (const std::uint32_t index : candidates) {
    if (request.hit(index) == longest) longest_.push_back(index);
  }
  Choice choice = cheapest(longest_, fleet, random, longest > Tokens() ? "prefix" : "no_prefix", requests_at);
  choice.score = longest.as_double();
  return choice;
}

}  // namespace evenkeel::routing
