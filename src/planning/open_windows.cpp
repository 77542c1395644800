#include "planning/open_windows.hpp"

#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "maths/quadrature.hpp"
#include "maths/spectrum.hpp"
#include "planning/demand.hpp"
#include "planning/reserve.hpp"

namespace evenkeel::planning {

namespace {

constexpr std::size_t quadrature_points = 32;

double rate_of(const Group& group) {
  double rate = 0;
  for (const double r : group.rate_per_node_s) rate += r;
  return rate;
}

/// How a reading sees one worker: the probability that its window is open, and the density of the time left in it.
struct Opening {
  double probability;
  std::function<double(double)> left;  ///< empty: a whole window
};

using OpeningOf = std::function<Opening(double rate, double window)>;

Opening all_open(double, double) { return {1, {}}; }

Opening open_in_full(double rate, double window) { return {-std::expm1(-rate * window), {}}; }

/// The time since the last arrival is exponential, cut off at the window.
Opening renewing(double rate, double window) {
  const double open = -std::expm1(-rate * window);
  return {open, [=](double left) { return rate * std::exp(-rate * (window - left)) / open; }};
}

/// A window, then an idle time of mean 1 / rate, then a window.
Opening first_only(double rate, double window) {
  return {rate * window / (1 + rate * window), [=](double) { return 1 / window; }};
}

class Reader {
 public:
  Reader(const FleetPlan& plan, std::size_t resource, std::span<const std::size_t> groups)
      : plan_(plan), resource_(resource), groups_(groups) {
    plan_.profile.clear();
    plan_.correlation = 0;
    const Demand all = window_demand(plan_, resource_, rates_of(plan_, groups_), plan_.scale_time_s);
    on_lattice_ = all.on_lattice;
    grid_ = maths::Grid::covering(all.severity.step, 0, all.upper());
  }

  WindowReading read(std::string_view name, std::string_view words, const OpeningOf& opening_of) const {
    WindowReading reading{.name = name, .words = words};
    std::optional<maths::Spectrum> fleet;
    for (const std::size_t g : groups_) {
      const Group& group = plan_.groups[g];
      const Opening opening = opening_of(rate_of(group), plan_.scale_time_s);
      reading.open_nodes += opening.probability * static_cast<double>(group.nodes);
      maths::Spectrum node = node_law(group, opening);
      node.power(static_cast<std::size_t>(group.nodes));
      if (fleet) {
        *fleet *= node;
      } else {
        fleet = std::move(node);
      }
    }
    const maths::Lattice law = fleet->law();
    reading.mean = law.moment(1);
    reading.reserve = on_lattice_ ? law.point_quantile(plan_.level) : law.quantile(plan_.level);
    return reading;
  }

 private:
  /// The demand of one worker over `window_s`.
  [[nodiscard]] maths::Spectrum demand(const Group& group, double window_s) const {
    const Demand one = window_demand_on(plan_, resource_, group.rate_per_node_s, window_s, grid_.step);
    return maths::Spectrum(grid_, one.severity).compound(one.count);
  }

  [[nodiscard]] maths::Spectrum node_law(const Group& group, const Opening& opening) const {
    maths::Lattice nothing(grid_.step);
    nothing.add_atom(0, 1);
    maths::Spectrum law(grid_, nothing);
    if (!opening.left) return law.mix(1 - opening.probability, opening.probability, demand(group, plan_.scale_time_s));
    const auto points = maths::gauss_legendre(quadrature_points, 0, plan_.scale_time_s);
    double weight = 1 - opening.probability;
    for (const auto& point : points) {
      law.mix(weight, opening.probability * point.weight * opening.left(point.at), demand(group, point.at));
      weight = 1;
    }
    return law;
  }

  FleetPlan plan_;
  std::size_t resource_;
  std::span<const std::size_t> groups_;
  bool on_lattice_ = false;
  maths::Grid grid_;
};

}  // namespace

std::array<WindowReading, 4> window_readings(const FleetPlan& plan, std::size_t resource,
                                             std::span<const std::size_t> groups) {
  const Reader reader(plan, resource, groups);
  return {reader.read("all", "every worker's window open for its whole length (published)", all_open),
          reader.read("open", "open windows only, each for a whole length", open_in_full),
          reader.read("renewing", "every arrival renews the window, each until its own close", renewing),
          reader.read("first", "the first arrival opens it, no other renews it, each until its own close", first_only)};
}

}  // namespace evenkeel::planning
