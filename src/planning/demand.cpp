#include "planning/demand.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "maths/panjer.hpp"
#include "maths/spectrum.hpp"

namespace evenkeel::planning {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double most_cells = 1 << 20;

constexpr std::array<std::string_view, 4> evaluator_names{"automatic", "recursion", "transform", "expansion"};

/// Ages from..to at the window's close, whose tasks arrived at `rate`.
struct AgeSlice {
  double from;
  double to;
  double rate;
};

/// The profile seen from the window's close. Before its first step and without one, the factor is 1.
std::vector<AgeSlice> slices_of(const FleetPlan& plan, double window_s) {
  if (plan.profile.empty()) return {{0, window_s, 1}};
  std::vector<AgeSlice> slices;
  for (std::size_t i = 0; i < plan.profile.size(); ++i) {
    const double begin = plan.profile[i].from_s;
    const double end = i + 1 < plan.profile.size() ? std::min(plan.profile[i + 1].from_s, window_s) : window_s;
    if (begin < end && plan.profile[i].factor > 0)
      slices.push_back({window_s - end, window_s - begin, plan.profile[i].factor});
  }
  return slices;
}

/// Until when no task of this law has ended.
double flat_until(const DurationLaw& law) {
  double least = law.cap_s;
  for (const auto& part : law.parts) {
    least = std::min(least, part.kind == DurationPart::Kind::pareto ? part.minimum_s : 0);
  }
  return least;
}

double present(const Model& model, const AgeSlice& slice) {
  return slice.rate * (model.duration.survival_integral(slice.to) - model.duration.survival_integral(slice.from));
}

/// Adds what the tasks of one slice hold, all of one age law.
void add_slice(maths::Lattice& severity, const Model& model, const Footprint& foot, AgeSlice slice) {
  slice.to = std::min(slice.to, model.duration.cap_s);
  if (slice.from >= slice.to) return;
  if (foot.growth_per_s == 0) return severity.add_atom(foot.fixed, present(model, slice));
  const double flat = std::clamp(flat_until(model.duration), slice.from, slice.to);
  if (flat > slice.from) severity.add_uniform(foot.at(slice.from), foot.at(flat), slice.rate * (flat - slice.from));
  if (flat >= slice.to) return;
  severity.add_spread(foot.at(flat), foot.at(slice.to), [&](double held) {
    const double age = (held - foot.fixed) / foot.growth_per_s;
    const double mass = slice.rate * model.duration.survival_integral(age);
    return maths::PartialMoments{
        mass, foot.fixed * mass + foot.growth_per_s * slice.rate * model.duration.survival_moment(age)};
  });
}

/// The largest number of which all are whole multiples, if there is one that is not tiny.
std::optional<double> common_step(const FleetPlan& plan, std::size_t resource, std::span<const double> rates) {
  std::int64_t step = 0;
  for (std::size_t m = 0; m < rates.size(); ++m) {
    if (rates[m] == 0) continue;
    const Footprint& foot = plan.models[m].footprints[resource];
    const double micro = foot.fixed * 1e6;
    if (foot.growth_per_s > 0 || micro > 1e15 || std::abs(micro - std::round(micro)) > 1e-6) return std::nullopt;
    step = std::gcd(step, static_cast<std::int64_t>(std::round(micro)));
  }
  return static_cast<double>(step) / 1e6;
}

/// The greatest of 1, 2, 5 times a power of ten that is at most `value`.
double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double digit : {5.0, 2.0, 1.0}) {
    if (digit * power <= value * (1 + 1e-12)) return digit * power;
  }
  return power;
}

/// A number of tasks that is exceeded with a probability of about 1e-12: tails of the gamma and of the Poisson law are
/// bounded by x + sqrt(2 x t) + t with t = ln 1e12 (Laurent and Massart 2000).
double most_tasks(double mean, double shape) {
  constexpr double t = 27.6;
  const double rate = mean * (1 + std::sqrt(2 * t / shape) + t / shape);
  return rate + std::sqrt(2 * rate * t) + t;
}

/// What one task holds on average, and the expected tasks.
struct Rough {
  double held = 0;
  double tasks = 0;
};

Rough rough(const FleetPlan& plan, std::size_t resource, std::span<const double> rates, double window_s) {
  Rough sum;
  for (std::size_t m = 0; m < rates.size(); ++m) {
    for (AgeSlice slice : slices_of(plan, window_s)) {
      slice.rate *= rates[m];
      const double tasks = present(plan.models[m], slice);
      const Footprint& foot = plan.models[m].footprints[resource];
      sum.tasks += tasks;
      sum.held += foot.fixed * tasks + foot.growth_per_s * slice.rate *
                                           (plan.models[m].duration.survival_moment(slice.to) -
                                            plan.models[m].duration.survival_moment(slice.from));
    }
  }
  if (sum.tasks > 0) sum.held /= sum.tasks;
  return sum;
}

}  // namespace

std::string_view name_of(Evaluator evaluator) { return evaluator_names[static_cast<std::size_t>(evaluator)]; }

Result<Evaluator> evaluator_of(std::string_view name) {
  const auto* const found = std::ranges::find(evaluator_names, name);
  if (found == evaluator_names.end()) {
    return failure(fmt::format("evaluator is \"{}\": allowed are automatic, recursion, transform, expansion", name));
  }
  return static_cast<Evaluator>(found - evaluator_names.begin());
}

double common_shape(const FleetPlan& plan) {
  if (plan.correlation == 0) return infinity;
  return arrivals_per_node(plan, plan.scale_time_s) * (1 - plan.correlation) / plan.correlation;
}

maths::Shape Demand::shape() const {
  return maths::compound_shape(count, {severity.moment(1), severity.moment(2), severity.moment(3), severity.moment(4)});
}

double Demand::upper() const {
  const double tasks = most_tasks(count.mean(), count.is_poisson() ? infinity : count.shape());
  const double mean = severity.moment(1);
  const double spread = std::sqrt(std::max(0.0, severity.moment(2) - mean * mean));
  const double largest = severity.point(severity.mass.size() - 1);
  return std::min(tasks * largest, tasks * mean + 9 * spread * std::sqrt(tasks) + largest) + severity.step;
}

Demand window_demand_on(const FleetPlan& plan, std::size_t resource, std::span<const double> rates, double window_s,
                        double step) {
  Demand demand;
  demand.severity = maths::Lattice(step);
  const auto slices = slices_of(plan, window_s);
  double expected = 0;
  for (std::size_t m = 0; m < rates.size(); ++m) {
    if (rates[m] == 0) continue;
    for (AgeSlice slice : slices) {
      slice.rate *= rates[m];
      expected += present(plan.models[m], slice);
      add_slice(demand.severity, plan.models[m], plan.models[m].footprints[resource], slice);
    }
  }
  const double shape = common_shape(plan);
  const auto exact = common_step(plan, resource, rates);
  demand.on_lattice = exact && *exact == step;
  demand.count = maths::CountLaw::negative_binomial(expected, expected + expected * expected / shape);
  if (expected > 0) demand.severity.scale(1 / demand.severity.total());
  return demand;
}

Demand window_demand(const FleetPlan& plan, std::size_t resource, std::span<const double> rates, double window_s) {
  const Rough size = rough(plan, resource, rates, window_s);
  const double shape = common_shape(plan);
  const double reach = size.held * (size.tasks + 10 * std::sqrt(size.tasks + size.tasks * size.tasks / shape) + 10);
  if (const auto step = common_step(plan, resource, rates); step && reach / *step <= most_cells) {
    return window_demand_on(plan, resource, rates, window_s, *step);
  }
  const double wanted = round_down(size.held / 500);
  const double coarsest_needed = reach / most_cells;
  return window_demand_on(plan, resource, rates, window_s,
                          wanted >= coarsest_needed ? wanted : round_down(coarsest_needed * 2.5));
}

Evaluator evaluator_for(const Demand& demand, Evaluator wanted) {
  if (wanted != Evaluator::automatic) return wanted;
  // A cell of the recursion costs a few nanoseconds a run, one of the transform about a hundred.
  return maths::run_count(demand.severity) <= 24 ? Evaluator::recursion : Evaluator::transform;
}

Result<double> quantile(const Demand& demand, double level, Evaluator evaluator) {
  if (demand.count.mean() == 0) return 0;
  const auto of = [&](const maths::Lattice& law) {
    return demand.on_lattice ? law.point_quantile(level) : law.quantile(level);
  };
  switch (evaluator_for(demand, evaluator)) {
    case Evaluator::expansion: return std::max(0.0, demand.shape().cornish_fisher(level));
    case Evaluator::transform: return of(compound_by_transform(demand.count, demand.severity, 0, demand.upper()));
    default: break;
  }
  return maths::quantile_by_recursion(demand.count, demand.severity, level, demand.on_lattice);
}

Result<double> coverage(const Demand& demand, double reserve) {
  const double upper = demand.upper();
  if (reserve >= upper) return 1;
  const maths::Lattice law = compound_by_transform(demand.count, demand.severity, 0, upper);
  // Values that are points of the lattice are not spread: half a step further all of a point's mass is in.
  return law.cdf(demand.on_lattice ? reserve + demand.severity.step / 2 : reserve);
}

}  // namespace evenkeel::planning
