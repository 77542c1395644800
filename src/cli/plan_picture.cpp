#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "cli/plan_answer.hpp"
#include "report/chart.hpp"

namespace evenkeel::cli {

namespace {

using planning::FleetPlan;

/// About 24 sizes, evenly on a logarithmic axis, from one node a group to twice the fleet and at least 64.
std::vector<std::int64_t> sizes_for(const FleetPlan& plan) {
  std::int64_t nodes = 0;
  for (const auto& group : plan.groups) nodes += group.nodes;
  const auto least = static_cast<double>(plan.groups.size());
  const double most = std::max(64.0, 2 * static_cast<double>(nodes));
  std::set<std::int64_t> sizes{nodes};
  constexpr int points = 24;
  for (int i = 0; i <= points; ++i)
    sizes.insert(std::llround(least * std::pow(most / least, i / static_cast<double>(points))));
  return {sizes.begin(), sizes.end()};
}

/// Percent of the fleet's memory against its size.
template <class Of>
Result<report::Series> curve(std::string name, const FleetPlan& plan, const std::vector<std::int64_t>& sizes,
                             planning::Evaluator evaluator, Of of) {
  report::Series series{std::move(name), {}, {}};
  for (const std::int64_t size : sizes) {
    const auto reserve = planning::fleet_reserve(planning::with_nodes(plan, size), 0, evaluator);
    if (!reserve) return tl::unexpected(reserve.error());
    series.x.push_back(static_cast<double>(size));
    series.y.push_back(100 * of(reserve->total));
  }
  return series;
}

}  // namespace

Result<std::string> reserve_svg(const FleetPlan& plan, planning::Evaluator evaluator) {
  const auto sizes = sizes_for(plan);
  const auto pooled = [](const planning::Reserve& reserve) { return reserve.share(); };
  const auto siloed = [](const planning::Reserve& reserve) { return reserve.siloed / reserve.capacity; };
  const auto floor = [](const planning::Reserve& reserve) { return reserve.floor_share(); };
  report::LineChart chart;
  chart.title = fmt::format("Reserve at level {:.4g} for {:g} s", plan.level, plan.scale_time_s);
  chart.x = {"workers", true};
  chart.y.title = "% of the fleet's memory";
  std::vector<Result<report::Series>> curves{curve("siloed", plan, sizes, evaluator, siloed),
                                             curve("pooled", plan, sizes, evaluator, pooled),
                                             curve("floor: mean demand", plan, sizes, evaluator, floor)};
  for (const double more : {0.03, 0.1}) {
    FleetPlan correlated = plan;
    correlated.correlation = std::min(0.99, plan.correlation + more);
    curves.push_back(
        curve(fmt::format("pooled, correlation {:g}", correlated.correlation), correlated, sizes, evaluator, pooled));
  }
  for (const double factor : {1.5, 2.0}) {
    curves.push_back(curve(fmt::format("pooled, rates times {:g}", factor), planning::with_rates_times(plan, factor),
                           sizes, evaluator, pooled));
  }
  for (auto& series : curves) {
    if (!series) return tl::unexpected(series.error());
    chart.series.push_back(std::move(*series));
  }
  return report::to_svg(chart);
}

}  // namespace evenkeel::cli
