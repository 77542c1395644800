#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "routing/departures.hpp"
#include "routing/margin_score.hpp"
#include "routing/open_slots.hpp"
#include "routing/policy.hpp"
#include "routing/projection.hpp"
#include "routing/subset_search.hpp"

namespace evenkeel::routing {

/// BalanceRoute as published (arXiv 2605.06113): BR-0 looks at the loads of now, BR-H at those of the next `horizon`
/// steps, with forecasts of who leaves. Which waiting requests enter and where is chosen together, so that the largest
/// load, which sets everyone's pace behind a barrier, rises as little as can be for what is let in.
///
///     while more than `greedy` slots are open:              the freest worker (then the lightest) takes the request
///                                                           with the highest score
///     while a slot is open:                                 the freest worker (then the one with most slack) takes
///                                                           the subset of the oldest `window` with the highest
///                                                           score, or the best single one if that is not positive
///
/// Every slot is filled for which somebody waits who may use it. Workers are taken to be equally fast. A request is
/// passed over as often as the scores say: nothing here bounds how long it waits.
///
/// Loads are KV tokens of ours and of others. Equals, which the paper leaves open: workers are drawn, requests go by
/// pool order. Requests that are barred from a worker do not count there, not even in its window. Placements come in
/// pool order, for all enter in the same step.
class Br final : public Policy {
 public:
  static constexpr std::size_t whole_pool = std::numeric_limits<std::size_t>::max();
  enum class Subset { enumerate, reachable };
  struct Options {
    std::string_view name = "br0";
    std::size_t window = 4;             ///< R_max; whole_pool: all that wait
    std::int64_t greedy = 7;            ///< S_greedy, in slots
    Subset subset = Subset::enumerate;  ///< enumerate: for windows up to SubsetSearch::enumeration_limit
    double beta = 0;                    ///< 0: the number of workers
    double gamma = 1;
  };
  Br(Options options, Departures departures);

  [[nodiscard]] std::string_view name() const override { return options_.name; }
  [[nodiscard]] bool plans_jointly() const override { return true; }
  [[nodiscard]] bool wants_running() const override { return departures_.window() > 0; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
            std::vector<fleet::Placement>& placements) override;
  [[nodiscard]] forecast::ByModel* forecasts() override { return departures_.forecasts(); }
  void ended(const fleet::LeaseSummary& summary, Time now) override { departures_.ended(summary, now); }

 private:
  void fill_plenty();
  void fill_scarce();
  [[nodiscard]] std::uint32_t freest_then_lightest() const;
  [[nodiscard]] std::uint32_t freest_then_slackest() const;
  void look_at(std::uint32_t worker, std::size_t window);
  void admit(std::uint32_t worker, const SubsetSearch::Best& best, std::string_view reason);

  Options options_;
  Departures departures_;
  OpenSlots slots_;
  Projection projection_;
  MarginScore score_;
  SubsetSearch search_;
  std::vector<std::uint32_t> window_;  ///< requests looked at for the worker in question
  std::vector<std::int64_t> sizes_;    ///< their prompt tokens
  std::span<const fleet::WaitingView> waiting_;
  std::vector<fleet::Placement>* placements_ = nullptr;
};

/// br0[window=4, greedy=7, subset=enumerate|reachable, beta=workers]. `window` is 1 to 4,096 or "all". Without `subset`
/// windows up to 12 are enumerated and longer ones searched by reachable totals.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_br0(Parameters& parameters, const PolicyParts& parts);
/// brh[forecast=survival, horizon=80, beta=43, gamma=0.86, refresh=horizon, guard=on] and those of br0. The horizon is
/// 0 to 1,024 steps; 0 needs no forecast.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_brh(Parameters& parameters, const PolicyParts& parts);

}  // namespace evenkeel::routing
