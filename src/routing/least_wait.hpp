#pragma once

#include "routing/policy.hpp"

namespace evenkeel::routing {

/// Outstanding tokens over learned rate: the candidate where the work already there plus this request's own is
/// expected to be done soonest. With n requests open (ours and foreign), mean output m, prefill owed Q, this
/// prompt p and prompt weight w:
///
///     wait = ((n + 1) m + w (Q + p)) / rate(n + 1)
///
/// The remaining output of a running request is taken as m whatever it has produced (lengths are unknown and their
/// law is close to memoryless or heavier). A worker of unknown rate is given the mean curve of those known, so it
/// is tried and then known; with no rate known at all the rule is outstanding tokens alone.
class LeastWait final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "least_wait"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates, const fleet::FleetView& fleet,
                Random& random) override;
};

}  // namespace evenkeel::routing
