#include "planning/fleet_plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace evenkeel::planning {

namespace {

/// Far beyond any fleet, and small enough that no product of them overflows.
constexpr double most = 1e12;
constexpr std::int64_t most_nodes = 100'000;
constexpr std::size_t most_entries = 64;

Result<void> within(std::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return failure(fmt::format("{} is {}: allowed are {} to {}", field, value, low, high));
}

Result<void> over_zero(std::string_view field, double value) {
  if (value > 0 && value <= most) return {};
  return failure(fmt::format("{} is {}: allowed are numbers over 0 to {}", field, value, most));
}

Result<void> count(std::string_view what, std::size_t found, std::size_t wanted, std::string_view of) {
  if (found == wanted) return {};
  return failure(fmt::format("{} has {} numbers: wanted are {}, one a {}", what, found, wanted, of));
}

Result<void> check_model(const FleetPlan& plan, const Model& model) {
  const std::string of = fmt::format("model \"{}\": ", model.name);
  if (auto ok = model.duration.check(); !ok) return failure(of + ok.error().message);
  if (auto ok = count(of + "footprint", model.footprints.size(), plan.resources.size(), "resource"); !ok) return ok;
  for (std::size_t r = 0; r < plan.resources.size(); ++r) {
    const Footprint& foot = model.footprints[r];
    const std::string name = of + plan.resources[r];
    if (auto ok = within(name + " at admission", foot.fixed, 0, most); !ok) return ok;
    if (auto ok = within(name + " growth per second", foot.growth_per_s, 0, most); !ok) return ok;
    if (foot.fixed == 0 && foot.growth_per_s == 0) return failure(name + " is 0 at every age: leave the resource out");
    if (foot.growth_per_s > 0 && std::isinf(model.duration.second_moment())) {
      return failure(
          fmt::format("{}: what a task holds grows as long as it stays, and with a tail index at or under 2 and no cap "
                      "its mean over "
                      "a stay is infinite: give the duration a cap (the context window does) or a greater tail index",
                      name));
    }
  }
  return {};
}

Result<void> check_group(const FleetPlan& plan, const Group& group) {
  const std::string of = fmt::format("group \"{}\": ", group.name);
  if (group.nodes < 1 || group.nodes > most_nodes) {
    return failure(fmt::format("{}nodes is {}: allowed are 1 to {}", of, group.nodes, most_nodes));
  }
  if (auto ok = count(of + "capacity", group.capacity.size(), plan.resources.size(), "resource"); !ok) return ok;
  if (auto ok = count(of + "rates", group.rate_per_node_s.size(), plan.models.size(), "model"); !ok) return ok;
  for (const double capacity : group.capacity) {
    if (auto ok = over_zero(of + "capacity", capacity); !ok) return ok;
  }
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    const double rate = group.rate_per_node_s[m];
    const Model& model = plan.models[m];
    if (auto ok = within(fmt::format("{}rate of \"{}\" per second", of, model.name), rate, 0, most); !ok) return ok;
    if (rate == 0) continue;
    const double oldest = std::min(plan.scale_time_s + plan.staleness_s, model.duration.cap_s);
    for (std::size_t r = 0; r < plan.resources.size(); ++r) {
      const double largest = model.footprints[r].at(oldest);
      if (largest <= group.capacity[r]) continue;
      return failure(
          fmt::format("{}capacity {} of {} is under the {:.4g} that one task of \"{}\" holds at the end of its window",
                      of, group.capacity[r], plan.resources[r], largest, model.name));
    }
  }
  if (std::ranges::none_of(group.rate_per_node_s, [](double rate) { return rate > 0; })) {
    return failure(of + "no model comes: at least one rate over 0 is needed");
  }
  return {};
}

Result<void> check_profile(const FleetPlan& plan) {
  double before = -1;
  double greatest = plan.profile.empty() ? 1 : 0;
  for (const RateStep& step : plan.profile) {
    if (before < 0 && step.from_s != 0)
      return failure(fmt::format("the profile begins at {} s: wanted is 0", step.from_s));
    if (auto ok = within("a step of the profile, in s,", step.from_s, 0, most); !ok) return ok;
    if (step.from_s <= before)
      return failure(fmt::format("the profile's step at {} s does not come after {} s", step.from_s, before));
    if (auto ok = within("a factor of the profile", step.factor, 0, 1e6); !ok) return ok;
    before = step.from_s;
    greatest = std::max(greatest, step.from_s < plan.scale_time_s ? step.factor : 0);
  }
  if (greatest > 0) return {};
  return failure("the profile's factors are all 0 within the window: nothing would arrive");
}

Result<void> check_sizes(const FleetPlan& plan) {
  const auto some = [](std::string_view what, std::size_t found) -> Result<void> {
    if (found >= 1 && found <= most_entries) return {};
    return failure(fmt::format("{} {}: allowed are 1 to {}", found, what, most_entries));
  };
  if (auto ok = some("resources", plan.resources.size()); !ok) return ok;
  if (auto ok = some("models", plan.models.size()); !ok) return ok;
  if (auto ok = some("groups", plan.groups.size()); !ok) return ok;
  if (plan.profile.size() <= 1000) return {};
  return failure(fmt::format("the profile has {} steps: allowed are up to 1000", plan.profile.size()));
}

/// Laws on a lattice have a limit of cells, and common factors one of spread.
Result<void> check_arrivals(const FleetPlan& plan) {
  double nodes = 0;
  for (const Group& group : plan.groups) nodes += static_cast<double>(group.nodes);
  const double arrivals = nodes * arrivals_per_node(plan, plan.scale_time_s + plan.staleness_s);
  constexpr double most_arrivals = 40'000;
  if (!(arrivals <= most_arrivals)) {
    return failure(
        fmt::format("{:.6g} heavy tasks arrive in one window: allowed are up to {} (plan for a part of the "
                    "fleet; its share of so many is within a percent of the floor)",
                    arrivals, most_arrivals));
  }
  constexpr double least_shape = 0.01;
  const double each = arrivals_per_node(plan, plan.scale_time_s);
  const double most_correlation = each / (each + least_shape);
  if (plan.correlation <= most_correlation) return {};
  return failure(fmt::format("correlation is {}: with {:.3g} arrivals a node and window, allowed are up to {:.6g}",
                             plan.correlation, each, most_correlation));
}

}  // namespace

double profile_integral(const FleetPlan& plan, double window_s) {
  if (plan.profile.empty()) return window_s;
  double sum = 0;
  for (std::size_t i = 0; i < plan.profile.size(); ++i) {
    const double end = i + 1 < plan.profile.size() ? std::min(plan.profile[i + 1].from_s, window_s) : window_s;
    sum += plan.profile[i].factor * std::max(0.0, end - plan.profile[i].from_s);
  }
  return sum;
}

double arrivals_per_node(const FleetPlan& plan, double window_s) {
  double rate = 0;
  double nodes = 0;
  for (const Group& group : plan.groups) {
    for (const double r : group.rate_per_node_s) rate += r * static_cast<double>(group.nodes);
    nodes += static_cast<double>(group.nodes);
  }
  return rate / nodes * profile_integral(plan, window_s);
}

Result<void> FleetPlan::check() const {
  if (auto ok = check_sizes(*this); !ok) return ok;
  if (!(level > 0 && level <= 1 - 1e-9)) {
    return failure(fmt::format("level is {}: allowed are numbers over 0 and under 1, to 1 - 1e-9", level));
  }
  if (auto ok = over_zero("scale time in s", scale_time_s); !ok) return ok;
  if (auto ok = within("an ordinary sequence in GB", sequence_gb, 0, most); !ok) return ok;
  if (auto ok = within("staleness in s", staleness_s, 0, most); !ok) return ok;
  if (auto ok = within("correlated share", correlated_share, 0, 1); !ok) return ok;
  if (!(correlation >= 0 && correlation < 1)) {
    return failure(fmt::format("correlation is {}: allowed are 0 and more, under 1", correlation));
  }
  if (auto ok = check_profile(*this); !ok) return ok;
  for (const Model& model : models) {
    if (auto ok = check_model(*this, model); !ok) return ok;
  }
  for (const Group& group : groups) {
    if (auto ok = check_group(*this, group); !ok) return ok;
  }
  return check_arrivals(*this);
}

FleetPlan with_nodes(FleetPlan plan, std::int64_t nodes) {
  std::int64_t before = 0;
  for (const Group& group : plan.groups) before += group.nodes;
  for (Group& group : plan.groups) {
    const double share = static_cast<double>(group.nodes) / static_cast<double>(before);
    group.nodes = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(nodes)));
  }
  return plan;
}

FleetPlan with_rates_times(FleetPlan plan, double factor) {
  for (Group& group : plan.groups) {
    for (double& rate : group.rate_per_node_s) rate *= factor;
  }
  return plan;
}

FleetPlan splitwise_70b(std::int64_t nodes, double prompt_gb) {
  constexpr double tokens_per_s = 500.0 / 33;  // a decode step every 66 ms
  constexpr double mean_s = 300;
  constexpr double tail_index = 2.2;
  FleetPlan plan;
  plan.models = {{std::string(splitwise_70b_name),
                  DurationLaw::pareto(mean_s * (tail_index - 1) / tail_index, tail_index),
                  {{prompt_gb, splitwise_70b_bytes_per_token * tokens_per_s / 1e9}}}};
  plan.sequence_gb =
      (splitwise_70b_prompt_tokens + 129) * splitwise_70b_bytes_per_token / 1e9;  // with its median answer
  plan.groups = {{"decode", nodes, {31.80}, {7.4 / mean_s}}};
  return plan;
}

}  // namespace evenkeel::planning
