#pragma once

#include <vector>

#include "routing/policy.hpp"

namespace evenkeel::routing {

// Late binding: a request stays in the pool until a slot is open for it. Every policy binds late where workers have
// slot limits; these say no more than which open slot the head of the pool takes. A worker's speed is what each of its
// requests would get of its rate, one more than now included; one whose rate is not known is tried first. A worker that
// may be sent requests ahead of its slots gets one only when no slot is open anywhere for it.

/// The head takes the open slot of the fastest worker. Equals: the one with fewest requests, else drawn.
class Late final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "late"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;

 private:
  std::vector<std::uint32_t> open_;
};

/// As `late`, but a slower worker takes only as many as it will have finished by the time the faster ones have drained
/// the rest: near the end of a burst a slow slot stays open rather than be the last to finish.
///
/// Workers from fast to slow (rate with all slots busy, per slot). Of k that wait, a worker with faster ones beside it
/// starts that x <= its open slots for which
///
///     max( time until it has finished those in service and x more,  time until the faster ones are done with k - x
///     more )
///
/// is least; among equals the largest. The faster ones are taken to do what they have, and as many rounds as fill all
/// their slots, at their full rate; what is left then runs on the fastest at the rate of so few. Outputs that are not
/// there yet are taken to have the learned mean. What others have in service is taken to stay: it has its share of a
/// worker's rate, and that is not ours to wait for. A request that may go to none of the faster workers, however free
/// (WaitingView::reach), is not held for them.
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
    std::int64_t started = 0;  ///< in this plan
  };
  /// What the faster workers still have to do, and with what.
  struct Work {
    double left = 0;         ///< tokens of ours in service there
    double rate = 0;         ///< at which they do ours, all slots busy
    std::int64_t slots = 0;  ///< that are not others'
  };
  /// Requests not yet placed that may go to one kind of worker.
  struct Left {
    std::int64_t here_only = 0;      ///< and to none of the faster ones
    std::int64_t elsewhere_too = 0;  ///< and to some faster one, too
  };
  /// Seconds until the faster workers are done with `more` requests beside what they have.
  [[nodiscard]] double time_of(const Work& faster, std::int64_t more) const;
  void seat(const fleet::FleetView& fleet, Random& random);
  [[nodiscard]] Left left_for(std::span<const fleet::WaitingView> waiting, bool peer, fleet::Reach faster) const;
  std::int64_t place(std::span<const fleet::WaitingView> waiting, std::uint32_t worker, bool peer, fleet::Reach faster,
                     std::int64_t most, std::int64_t spared, std::vector<fleet::Placement>& placements);
  /// Fills open slots from fast to slow; `ahead`: places beyond them.
  void fill(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, bool ahead,
            std::vector<fleet::Placement>& placements);
  [[nodiscard]] std::int64_t starts(const fleet::WorkerView& worker, std::int64_t started, std::int64_t open,
                                    std::int64_t waiting, const Work& faster) const;

  std::vector<Seat> seats_;
  std::vector<bool> placed_;
  std::vector<const fleet::WorkerView*> faster_;  ///< than the one that is looked at, fastest first
};

/// `late_tail[slots_only=on]`: slots gate and nothing ranks. The head takes an open slot of the worker with the least
/// share of its slots in use, whatever its rate; equals: drawn.
class LateSlotsOnly final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "late_tail"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;

 private:
  std::vector<std::uint32_t> open_;
};

}  // namespace evenkeel::routing
