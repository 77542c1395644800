#pragma once

#include <vector>

#include "routing/policy.hpp"

namespace evenkeel::routing {

// Late binding: a request stays in the pool until a slot is open for it. Every policy binds late where workers have
// slot limits; these say no more than which open slot the head of the pool takes. A worker's speed is what each of its
// requests would get of its learned rate, one more than now included; one whose rate is not known is tried first.

/// The head takes the open slot of the fastest worker. Equals: the one with fewest requests, else drawn.
class Late final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "late"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;
};

/// As `late`, but a slower worker takes only as many as it will have finished by the time the faster ones have drained
/// the rest: near the end of a burst a slow slot stays open rather than be the last to finish.
///
/// Workers from fast to slow (rate with all slots busy, per slot). Of k that wait, a worker with faster ones beside it
/// starts that x <= its open slots for which
///
///     max( time until it has finished those in service and x more,  (left at the faster + (k - x) m) / their rate )
///
/// is least; among equals the largest. m is the learned mean output, left what requests in service still owe by it.
class LateTail final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "late_tail"; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
            std::vector<fleet::Placement>& placements) override;

 private:
  struct Seat {
    std::uint32_t worker = 0;
    double slot_speed = 0;  ///< tokens a second of each slot with all busy; infinite if not known
    double tie = 0;
  };
  std::vector<Seat> seats_;
  std::vector<bool> placed_;
};

}  // namespace evenkeel::routing
