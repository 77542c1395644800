#pragma once

#include "routing/balance.hpp"
#include "routing/late.hpp"
#include "routing/least_wait.hpp"

namespace evenkeel::routing {

/// What suits the workers at hand: `late_tail` where another router's box is among them, as there no request should be
/// bound to a box before a slot is open; `balance` where all of them belong to sync groups, whose fullest worker sets
/// everyone's pace; else `least_wait`.
class Automatic final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "auto"; }
  [[nodiscard]] std::string_view acting() const override { return acting_->name(); }
  [[nodiscard]] bool wants_hits() const override { return least_wait_.wants_hits(); }
  [[nodiscard]] bool plans_jointly() const override { return balance_.plans_jointly(); }
  [[nodiscard]] bool bounds_overtaking() const override { return balance_.bounds_overtaking(); }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
            std::vector<fleet::Placement>& placements) override;
  void ended(const fleet::LeaseSummary& summary, Time now) override { balance_.ended(summary, now); }

 private:
  Balance balance_{{}};
  LeastWait least_wait_;
  LateTail late_tail_;
  Policy* acting_ = &least_wait_;
};

}  // namespace evenkeel::routing
