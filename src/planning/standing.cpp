#include "planning/standing.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "maths/poisson_draw.hpp"
#include "maths/spectrum.hpp"
#include "planning/demand.hpp"

namespace evenkeel::planning {

namespace {

FleetPlan without_changes(FleetPlan plan) {
  plan.profile.clear();
  plan.correlation = 0;
  return plan;
}

/// A compound Poisson part that is built by adding expected numbers to its severity.
struct Part {
  maths::Lattice expected;

  explicit Part(double step) : expected(step) {}

  [[nodiscard]] maths::Spectrum spectrum(const maths::Grid& grid) const {
    const double total = expected.total();
    maths::Lattice severity = expected;
    if (total > 0) severity.scale(1 / total);
    return maths::Spectrum(grid, severity).compound(maths::CountLaw::poisson(total));
  }
};

/// Expected numbers of tasks by what they hold when their age has density rate * weight(age), the integral of which is
/// `zeroth` and that of age * weight is `first`. Beyond `furthest` all count as holding that.
template <class Zeroth, class First>
void add_ages(maths::Lattice& to, const Footprint& foot, double sign, double rate, double oldest, double furthest,
              Zeroth zeroth, First first) {
  const double all = zeroth(oldest);
  if (foot.growth_per_s == 0) return to.add_atom(sign * foot.fixed, rate * all);
  const double last = std::min(oldest, std::max(0.0, (furthest - foot.fixed) / foot.growth_per_s));
  const auto below = [&](double held) {
    const double age = std::clamp((held - foot.fixed) / foot.growth_per_s, 0.0, last);
    const double mass = rate * zeroth(age);
    return maths::PartialMoments{mass, foot.fixed * mass + foot.growth_per_s * rate * first(age)};
  };
  if (sign > 0) {
    to.add_spread(foot.fixed, foot.at(last), below);
  } else {
    // Mirrored: what is at most -x is what is at least x.
    const maths::PartialMoments whole = below(foot.at(last));
    to.add_spread(-foot.at(last), -foot.fixed, [&](double change) {
      const maths::PartialMoments less = below(-change);
      return maths::PartialMoments{whole.mass - less.mass, less.first - whole.first};
    });
  }
  const double beyond = rate * (all - zeroth(last));
  if (beyond > 0) to.add_atom(sign * std::max(foot.fixed, furthest), beyond);
}

constexpr double forever = 1e15;  // s; no task is older

double oldest_of(const DurationLaw& law) { return std::min(law.cap_s, forever); }

/// What is in service: Poisson with age density rate * survival(age).
void add_standing(maths::Lattice& to, const Model& model, std::size_t resource, double rate, double furthest) {
  const DurationLaw& law = model.duration;
  add_ages(
      to, model.footprints[resource], 1, rate, oldest_of(law), furthest,
      [&](double age) { return law.survival_integral(age); }, [&](double age) { return law.survival_moment(age); });
}

/// What leaves within the window: there at its start with age a, gone at its end, density rate * (S(a) - S(a + T)).
void add_departures(maths::Lattice& to, const Model& model, std::size_t resource, double rate, double window,
                    double furthest) {
  const DurationLaw& law = model.duration;
  const auto moved = [&, window](double age) {  // integral of S(u + T) over [0, age]
    return law.survival_integral(age + window) - law.survival_integral(window);
  };
  const auto moved_moment = [&, window](double age) {  // integral of u S(u + T)
    return law.survival_moment(age + window) - law.survival_moment(window) - window * moved(age);
  };
  add_ages(
      to, model.footprints[resource], -1, rate, oldest_of(law), furthest,
      [&](double age) { return law.survival_integral(age) - moved(age); },
      [&](double age) { return law.survival_moment(age) - moved_moment(age); });
}

Drawn drawn_quantile(std::vector<double>& values, double level) {
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  const auto at = [&](double rank) {
    return values[static_cast<std::size_t>(std::clamp(std::ceil(rank) - 1, 0.0, n - 1))];
  };
  const double spread = 1.96 * std::sqrt(n * level * (1 - level));
  return {at(level * n), at(level * n - spread), at(level * n + spread + 1)};
}

/// One window: what is held grows linearly between ends and jumps at arrivals.
class Path {
 public:
  void jump(double at_s, double by, double rate) { jumps_.push_back({at_s, by, rate}); }

  /// The greatest change in [0, window].
  double greatest(double window) {
    std::ranges::sort(jumps_, {}, &Jump::at_s);
    double held = 0;
    double rate = 0;
    double before = 0;
    double greatest = 0;
    for (const Jump& jump : jumps_) {
      held += rate * (jump.at_s - before);
      greatest = std::max(greatest, held);
      held += jump.by;
      greatest = std::max(greatest, held);
      rate += jump.rate;
      before = jump.at_s;
    }
    return std::max(greatest, held + rate * (window - before));
  }
  void clear() { jumps_.clear(); }

 private:
  struct Jump {
    double at_s;
    double by;
    double rate;
  };
  std::vector<Jump> jumps_;
};

void draw_residents(Path& path, Random& random, const Model& model, const Footprint& foot, double rate, double window) {
  const std::int64_t count = maths::draw_poisson(rate * model.duration.mean(), random);
  for (std::int64_t i = 0; i < count; ++i) {
    const Resident resident = model.duration.draw_resident(random);
    path.jump(0, 0, foot.growth_per_s);
    if (resident.left_s < window) {
      path.jump(resident.left_s, -foot.at(resident.age_s + resident.left_s), -foot.growth_per_s);
    }
  }
}

void draw_arrivals(Path& path, Random& random, const Model& model, const Footprint& foot, double rate, double window) {
  for (double at = random.exponential(1 / rate); at < window; at += random.exponential(1 / rate)) {
    const double stay = model.duration.draw(random);
    path.jump(at, foot.fixed, foot.growth_per_s);
    if (at + stay < window) path.jump(at + stay, -foot.at(stay), -foot.growth_per_s);
  }
}

double quantile_of(const maths::Lattice& law, bool points, double level) {
  return points ? law.point_quantile(level) : law.quantile(level);
}

/// The range of the change: so many times as far down as up.
constexpr double below_zero = 8;

/// What all that were there gain within the window if none leaves: exceeded with a probability of about 1e-12.
double growth_bound(const FleetPlan& plan, std::size_t resource, std::span<const double> rates) {
  double tasks = 0;
  double gain = 0;
  for (std::size_t m = 0; m < rates.size(); ++m) {
    if (rates[m] == 0) continue;
    tasks += rates[m] * plan.models[m].duration.mean();
    gain = std::max(gain, plan.models[m].footprints[resource].growth_per_s * plan.scale_time_s);
  }
  return gain * static_cast<double>(maths::CountLaw::poisson(tasks).quantile(1 - 1e-12));
}

/// The range is several times that of the arrivals alone: coarser, so that the transform stays under a million cells.
double coarse_step(const FleetPlan& plan, std::size_t resource, std::span<const double> rates, const Demand& arrivals) {
  double step = arrivals.severity.step;
  if (arrivals.on_lattice) return step;
  const double range = (1 + below_zero) * (arrivals.upper() + growth_bound(plan, resource, rates));
  while (range / step > 1 << 19) step *= 2;
  return step;
}

}  // namespace

NetChange net_change(const FleetPlan& given, std::size_t resource, std::span<const double> rates) {
  const FleetPlan plan = without_changes(given);
  const double window = plan.scale_time_s;
  Demand arrivals = window_demand(plan, resource, rates, window);
  const double step = coarse_step(plan, resource, rates, arrivals);
  if (step > arrivals.severity.step) arrivals = window_demand_on(plan, resource, rates, window, step);
  Part stay(step);
  Part grown(step);
  for (std::size_t m = 0; m < rates.size(); ++m) {
    if (rates[m] == 0) continue;
    const DurationLaw& law = plan.models[m].duration;
    const double gain = plan.models[m].footprints[resource].growth_per_s * window;
    stay.expected.add_atom(gain, rates[m] * (law.mean() - law.survival_integral(window)));
    grown.expected.add_atom(gain, rates[m] * law.mean());
  }
  const double high = arrivals.upper() + growth_bound(plan, resource, rates);
  // One departure of twice the greatest gain is as good as any greater one: the change is under 0 then.
  const maths::Grid grid = maths::Grid::covering(step, -below_zero * high, high);
  Part leave(step);
  for (std::size_t m = 0; m < rates.size(); ++m) {
    if (rates[m] > 0) add_departures(leave.expected, plan.models[m], resource, rates[m], window, 2 * high);
  }
  maths::Spectrum incoming(grid, arrivals.severity);
  incoming.compound(arrivals.count);
  maths::Spectrum all = incoming;
  all *= stay.spectrum(grid);
  all *= leave.spectrum(grid);
  incoming *= grown.spectrum(grid);
  return {quantile_of(all.law(), arrivals.on_lattice, plan.level),
          quantile_of(incoming.law(), arrivals.on_lattice, plan.level), step};
}

Standing standing(const FleetPlan& given, std::size_t resource, std::size_t group, double reserve) {
  const FleetPlan plan = without_changes(given);
  const Group& of = plan.groups[group];
  Standing result;
  const Demand arrivals = window_demand(plan, resource, of.rate_per_node_s, plan.scale_time_s);
  result.step = arrivals.severity.step;
  double tasks = 0;
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    const double rate = of.rate_per_node_s[m];
    if (rate == 0) continue;
    const Footprint& foot = plan.models[m].footprints[resource];
    const DurationLaw& law = plan.models[m].duration;
    tasks += rate * law.mean();
    result.mean += rate * foot.fixed * law.mean();
    if (foot.growth_per_s > 0) result.mean += rate * foot.growth_per_s * law.second_moment() / 2;
  }
  // What lies over four times the mean and the capacity is counted, but not how far over.
  const double furthest = 4 * (result.mean + of.capacity[resource]);
  Part part(result.step);
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    if (of.rate_per_node_s[m] > 0)
      add_standing(part.expected, plan.models[m], resource, of.rate_per_node_s[m], furthest);
  }
  const maths::Lattice law = part.spectrum(maths::Grid::covering(result.step, 0, 4 * furthest)).law();
  const bool points = arrivals.on_lattice;
  result.median = quantile_of(law, points, 0.5);
  result.at_level = quantile_of(law, points, plan.level);
  const double spread = points ? result.step / 2 : 0;
  result.over_capacity = 1 - law.cdf(of.capacity[resource] + spread);
  result.short_of = 1 - law.cdf(of.capacity[resource] - reserve + spread);
  return result;
}

Result<RunningMaximum> running_maximum(const FleetPlan& plan, std::size_t resource, std::span<const double> rates,
                                       double reserve, std::size_t paths, std::uint64_t seed) {
  double tasks = 1;
  for (std::size_t m = 0; m < rates.size(); ++m) {
    if (rates[m] > 0) tasks += rates[m] * (plan.models[m].duration.mean() + plan.scale_time_s);
  }
  if (tasks * static_cast<double>(paths) > 1e8) {
    return failure(
        fmt::format("{} windows of {:.3g} tasks are to be drawn: allowed are up to 1e8 tasks", paths, tasks));
  }
  Random random(seed);
  std::vector<double> all;
  std::vector<double> quiet;
  std::size_t covered = 0;
  Path path;
  for (std::size_t i = 0; i < paths; ++i) {
    path.clear();
    for (std::size_t m = 0; m < rates.size(); ++m) {
      if (rates[m] > 0) {
        draw_residents(path, random, plan.models[m], plan.models[m].footprints[resource], rates[m], plan.scale_time_s);
      }
    }
    quiet.push_back(path.greatest(plan.scale_time_s));
    for (std::size_t m = 0; m < rates.size(); ++m) {
      if (rates[m] > 0) {
        draw_arrivals(path, random, plan.models[m], plan.models[m].footprints[resource], rates[m], plan.scale_time_s);
      }
    }
    all.push_back(path.greatest(plan.scale_time_s));
    covered += all.back() <= reserve ? 1 : 0;
  }
  return RunningMaximum{drawn_quantile(all, plan.level), drawn_quantile(quiet, plan.level),
                        static_cast<double>(covered) / static_cast<double>(paths)};
}

}  // namespace evenkeel::planning
