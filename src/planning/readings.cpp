#include "planning/readings.hpp"

#include <algorithm>
#include <cmath>

#include "maths/count_law.hpp"
#include "maths/loss.hpp"

namespace evenkeel::planning {

namespace {

constexpr double loss_cells = 1000;

double at_random_instant(const Model& model, const Footprint& foot) {
  if (foot.growth_per_s == 0) return foot.fixed;
  return foot.fixed + foot.growth_per_s * model.duration.second_moment() / (2 * model.duration.mean());
}

}  // namespace

std::array<FootprintReading, 5> footprint_readings(const FleetPlan& plan, std::size_t resource, std::size_t model) {
  const Model& of = plan.models[model];
  const Footprint& foot = of.footprints[resource];
  const double window = std::min(plan.scale_time_s, of.duration.cap_s);
  const double mean_age = of.duration.survival_moment(window) / of.duration.survival_integral(window);
  return {{{"at_admission", foot.fixed},
           {"window_mean", foot.at(mean_age)},
           {"window_close", foot.at(window)},
           {"mean_duration", foot.at(of.duration.mean())},
           {"residency_mean", at_random_instant(of, foot)}}};
}

LossReading loss_reading(const FleetPlan& plan, std::size_t resource, std::size_t group) {
  const Group& of = plan.groups[group];
  const double capacity = of.capacity[resource];
  LossReading reading;
  double held = 0;
  std::vector<maths::LossClass> classes;
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    const Model& model = plan.models[m];
    const double offered = of.rate_per_node_s[m] * model.duration.mean();
    const double foot = at_random_instant(model, model.footprints[resource]);
    reading.offered += offered;
    held += offered > 0 ? offered * foot : 0;
    const double size = std::clamp(std::round(foot / capacity * loss_cells), 1.0, loss_cells + 1);
    classes.push_back({offered, static_cast<std::int64_t>(size)});
  }
  reading.tasks_that_fit = static_cast<std::int64_t>(std::min(1e6, capacity / (held / reading.offered)));
  reading.blocked = maths::erlang_b(reading.offered, reading.tasks_that_fit);
  reading.occupied_free = maths::CountLaw::poisson(reading.offered).quantile(plan.level);
  reading.occupied = maths::occupancy_quantile(reading.offered, reading.tasks_that_fit, plan.level);
  reading.blocked_by_model = maths::kaufman_roberts(classes, static_cast<std::int64_t>(loss_cells)).blocked;
  return reading;
}

}  // namespace evenkeel::planning
