#pragma once

#include "routing/policy.hpp"

namespace evenkeel::routing {

/// Sessions stick: the worker with the highest rendezvous weight for the affinity key (Thaler and Ravishankar
/// 1998: no ring to keep, a lost worker moves only its own keys), as long as it carries at most `bound` times the mean
/// load of the candidates (Mirrokni, Thorup and Zadimoghaddam 2018, bounded loads); else the next highest.
/// A request without a key goes to the least loaded.
class ConsistentHash final : public PerRequestPolicy {
 public:
  explicit ConsistentHash(double bound = 1.25) : bound_(bound) {}
  [[nodiscard]] std::string_view name() const override { return "consistent_hash"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;

 private:
  double bound_;
};

}  // namespace evenkeel::routing
