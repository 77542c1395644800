#pragma once

#include "routing/policy.hpp"

namespace evenkeel::routing {

/// The candidate that will owe the fewest prompt tokens with this request, for workers that only prefill: one works off
/// its prompts at a rate that hardly depends on how many they are, so what it owes is how long the request takes. What
/// is expected in its prefix cache is not owed. Equals by requests, then drawn. Not among the policies that can be
/// named: workers with another role have more to count.
class LeastPrefill final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "least_prefill"; }
  [[nodiscard]] bool wants_hits() const override { return true; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;
};

}  // namespace evenkeel::routing
