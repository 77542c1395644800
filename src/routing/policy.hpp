#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "fleet/view.hpp"
#include "forecast/by_model.hpp"
#include "forecast/registry.hpp"
#include "routing/smallest.hpp"
#include "routing/spec.hpp"

namespace evenkeel::routing {

/// The one entry of every policy: which waiting requests enter now, and where. Pure: all it knows is in the
/// arguments and in its own state. Not placing a request means hold. A policy can neither lease nor refuse; the
/// dispatcher checks every placement and drops what a worker has no slot for.
class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Who made the last plan: for a policy that hands over to others. Of a string that lives as long as the process.
  [[nodiscard]] virtual std::string_view acting() const { return name(); }
  /// `waiting` is in the order of the waiting pool. Appends to `placements`, at most one a request.
  virtual void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now,
                    Random& random, std::vector<fleet::Placement>& placements) = 0;
  /// Whether plan() reads WaitingView::hits.
  [[nodiscard]] virtual bool wants_hits() const { return false; }
  /// Whether plan() reads WorkerView::running.
  [[nodiscard]] virtual bool wants_running() const { return false; }
  /// Whether the choice gains when all that comes and ends within one step of a sync group is looked at together.
  [[nodiscard]] virtual bool plans_jointly() const { return false; }
  /// Whether the policy itself bounds how often a request is overtaken, so that nobody else needs to.
  [[nodiscard]] virtual bool bounds_overtaking() const { return false; }
  /// Its forecasts, to be taught, kept and looked at; null for a policy that makes none.
  [[nodiscard]] virtual forecast::ByModel* forecasts() { return nullptr; }
  /// A request left its worker: what a policy that forecasts learns from.
  virtual void ended(const fleet::LeaseSummary& summary, Time now) {
    static_cast<void>(summary);
    static_cast<void>(now);
  }
};

/// A rule that looks at one request at a time, fitted to the joint entry: in pool order each request is given
/// to the worker the rule chooses among those that still have a slot, and the view is charged before the next.
class PerRequestPolicy : public Policy {
 public:
  struct Choice {
    std::uint32_t worker = 0;  ///< index into the fleet view
    std::string_view reason;
    double score = 0;
  };

  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
            std::vector<fleet::Placement>& placements) final;

 protected:
  /// `candidates` is not empty; `fleet.workers` carries what this plan has placed already.
  virtual Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                        const fleet::FleetView& fleet, Random& random) = 0;

 private:
  std::vector<fleet::WorkerView> charged_;
  std::vector<std::uint32_t> open_;
};

/// The candidate with the smallest cost; equal costs (to 1e-9 of their size) are drawn fairly.
template <class Cost>
[[nodiscard]] PerRequestPolicy::Choice cheapest(std::span<const std::uint32_t> candidates,
                                                const fleet::FleetView& fleet, Random& random, std::string_view reason,
                                                Cost cost) {
  Smallest best;
  for (const std::uint32_t index : candidates) best.offer(cost(fleet.workers[index]), index, random);
  return {best.place().value_or(candidates.front()), reason, best.value()};
}

/// What a policy may need that is not its own to make.
struct PolicyParts {
  /// What makes the forecasts of that name, one a model; errors name those there are. Empty: those of room forecast.
  std::function<Result<forecast::ForecastMaker>(std::string_view name)> forecast;
};

/// The policies by name, with parameters in brackets: see PolicySpec. Errors name the nearest policy or parameter, or
/// the values allowed.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(const PolicySpec& spec, const PolicyParts& parts = {});
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(std::string_view text, const PolicyParts& parts = {});
[[nodiscard]] std::span<const std::string_view> policy_names();
inline constexpr std::string_view default_policy = "auto";

}  // namespace evenkeel::routing
