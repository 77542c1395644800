#pragma once

#include <cstdint>
#include <vector>

#include "routing/departures.hpp"
#include "routing/joint.hpp"
#include "routing/placement_search.hpp"
#include "routing/projection.hpp"

namespace evenkeel::routing {

/// The exact lookahead program IO_H (arXiv 2601.17855) over the window that JointPolicy describes, with the objective
/// of PlacementSearch. Forecasts are made anew at every step. A judge of other policies, for small fleets: a plan looks
/// at 200,000 partial placements at most, then the rest of it is what was found (`best_found` instead of `exact`).
class Ioh final : public JointPolicy {
 public:
  Ioh(std::size_t window, double gamma, Departures departures)
      : JointPolicy(window), departures_(std::move(departures)), search_(gamma) {}
  [[nodiscard]] std::string_view name() const override { return "ioh"; }
  [[nodiscard]] bool plans_jointly() const override { return true; }
  [[nodiscard]] bool wants_running() const override { return departures_.window() > 0; }
  [[nodiscard]] forecast::ByModel* forecasts() override { return departures_.forecasts(); }
  void ended(const fleet::LeaseSummary& summary, Time now) override { departures_.ended(summary, now); }

 private:
  void begin(const fleet::FleetView& fleet, Time now) override;
  Solution solve(std::vector<Pick>& picks) override;
  void charge(std::uint32_t worker, std::int64_t tokens) override { projection_.add(worker, tokens, 1); }

  Departures departures_;
  Projection projection_;
  PlacementSearch search_;
  std::int64_t looks_ = 0;  ///< left in this plan
};

/// ioh[forecast=survival, horizon=80, gamma=0.86, window=8, guard=on]. The window is 1 to 14, the rest as of brh.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_ioh(Parameters& parameters, const PolicyParts& parts);

}  // namespace evenkeel::routing
