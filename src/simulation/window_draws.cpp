#include "simulation/window_draws.hpp"

#include <algorithm>
#include <cmath>

#include "maths/poisson_draw.hpp"

namespace evenkeel::simulation {

std::vector<double> draw_arrivals(double rate_per_s, double length_s, Random& random) {
  std::vector<double> times;
  for (double t = random.exponential(1 / rate_per_s); t < length_s; t += random.exponential(1 / rate_per_s)) {
    times.push_back(t);
  }
  return times;
}

double held_at(const planning::Footprint& foot, const std::vector<double>& times, double from, double to) {
  double held = 0;
  for (const double t : times) {
    if (t > from && t <= to) held += foot.at(to - t);
  }
  return held;
}

std::vector<double> draw_window(const planning::FleetPlan& plan, double window_s, Random& random) {
  const planning::Group& group = plan.groups.front();
  const planning::Model& model = plan.models.front();
  const double expected = group.rate_per_node_s.front() * window_s;
  double factor = 1;
  if (plan.correlation > 0) {
    const double shape = expected * (1 - plan.correlation) / plan.correlation;
    factor = random.gamma(shape, 1 / shape);
  }
  std::vector<planning::RateStep> steps = plan.profile;
  if (steps.empty()) steps = {{0, 1}};
  std::vector<double> held(static_cast<std::size_t>(group.nodes), 0.0);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const double from = std::min(steps[k].from_s, window_s);
    const double to = k + 1 < steps.size() ? std::min(steps[k + 1].from_s, window_s) : window_s;
    const double mean = group.rate_per_node_s.front() * factor * steps[k].factor * (to - from);
    for (double& node : held) {
      const int arrivals = maths::draw_poisson(mean, random);
      for (int i = 0; i < arrivals; ++i) {
        const double age = window_s - from - (to - from) * random.unit();
        if (model.duration.draw(random) > age) node += model.footprints.front().at(age);
      }
    }
  }
  return held;
}

double Share::error(double expected) const { return std::sqrt(expected * (1 - expected) / std::max(1.0, trials)); }

}  // namespace evenkeel::simulation
