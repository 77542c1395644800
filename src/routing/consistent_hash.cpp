#include "routing/consistent_hash.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::routing {

namespace {
/// The worker's place in the key's order of preference: by its name, so that it survives restarts and re-adding.
std::uint64_t weight(std::uint64_t key, std::string_view name) {
  std::uint64_t hash = key;
  for (const char c : name) hash = mix64(hash ^ static_cast<unsigned char>(c));
  return hash;
}
}  // namespace

PerRequestPolicy::Choice ConsistentHash::choose(const fleet::WaitingView& request,
                                                std::span<const std::uint32_t> candidates,
                                                const fleet::FleetView& fleet, Random& random) {
  if (request.affinity_key == 0) {
    return cheapest(candidates, fleet, random, "no_key",
                    [](const fleet::WorkerView& worker) { return worker.requests(); });
  }
  double total = 1;  // this request counts
  double least = fleet.workers[candidates.front()].requests();
  for (const std::uint32_t index : candidates) {
    total += fleet.workers[index].requests();
    least = std::min(least, fleet.workers[index].requests());
  }
  // Foreign load is not whole; the least loaded must always be eligible.
  const double limit = std::max(least + 1, std::ceil(bound_ * total / static_cast<double>(candidates.size())));
  const std::uint32_t* chosen = nullptr;
  std::uint64_t best = 0;
  for (const std::uint32_t& index : candidates) {
    const fleet::WorkerView& worker = fleet.workers[index];
    const std::uint64_t w = weight(request.affinity_key, worker.name);
    if (worker.requests() + 1 <= limit && (chosen == nullptr || w > best)) {
      chosen = &index;
      best = w;
    }
  }
  // The key's home may be full or barred and so no candidate at all.
  const bool at_home = std::none_of(fleet.workers.begin(), fleet.workers.end(), [&](const fleet::WorkerView& worker) {
    return weight(request.affinity_key, worker.name) > best;
  });
  return {*chosen, at_home ? "key" : "key_overflow", limit};
}

}  // namespace evenkeel::routing
