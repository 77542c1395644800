#include "maths/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace evenkeel::maths {

namespace {

std::int64_t cell_of(double x, double step) { return static_cast<std::int64_t>(std::floor(x / step)); }

}  // namespace

double& Lattice::at(std::int64_t cell) {
  if (mass.empty()) first = std::min<std::int64_t>(cell, 0);
  if (cell < first) {
    mass.insert(mass.begin(), static_cast<std::size_t>(first - cell), 0.0);
    first = cell;
  }
  const auto i = static_cast<std::size_t>(cell - first);
  if (i >= mass.size()) mass.resize(i + 1, 0.0);
  return mass[i];
}

void Lattice::add_atom(double where, double weight) {
  const std::int64_t cell = cell_of(where, step);
  const double up = where / step - static_cast<double>(cell);
  if (up > 0) at(cell + 1) += weight * up;
  at(cell) += weight * (1 - up);
}

void Lattice::add_uniform(double from, double to, double weight) {
  const double density = weight / (to - from);
  const std::int64_t last = cell_of(to, step);
  at(last) += 0;  // one allocation
  for (std::int64_t cell = cell_of(from, step); cell <= last; ++cell) {
    const double low = std::max(from, step * static_cast<double>(cell));
    const double high = std::min(to, step * static_cast<double>(cell + 1));
    if (high <= low) continue;
    const bool whole = low > from && high < to;
    const double here = whole ? density * step : density * (high - low);
    const double up = whole ? 0.5 : std::clamp((low + high) / 2 / step - static_cast<double>(cell), 0.0, 1.0);
    at(cell + 1) += here * up;
    at(cell) += here * (1 - up);
  }
}

void Lattice::add_spread(double from, double to, const std::function<PartialMoments(double)>& below) {
  const std::int64_t last = cell_of(to, step);
  at(last) += 0;
  PartialMoments before = below(from);
  for (std::int64_t cell = cell_of(from, step); cell <= last; ++cell) {
    const double edge = std::min(to, step * static_cast<double>(cell + 1));
    const PartialMoments now = below(edge);
    const double here = now.mass - before.mass;
    if (here > 0) {
      const double mean = (now.first - before.first) / here;
      const double up = std::clamp(mean / step - static_cast<double>(cell), 0.0, 1.0);
      at(cell + 1) += here * up;
      at(cell) += here * (1 - up);
    }
    before = now;
  }
}

void Lattice::scale(double factor) {
  for (double& m : mass) m *= factor;
}

double Lattice::total() const {
  double sum = 0;
  for (const double m : mass) sum += m;
  return sum;
}

double Lattice::moment(int power) const {
  double sum = 0;
  for (std::size_t i = 0; i < mass.size(); ++i) sum += mass[i] * std::pow(point(i), power);
  return sum;
}

double Lattice::quantile(double level) const {
  double below = 0;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    if (mass[i] > 0 && below + mass[i] >= level) {
      return atom_at_zero(i) ? 0 : point(i) + step * ((level - below) / mass[i] - 0.5);
    }
    below += mass[i];
  }
  return std::numeric_limits<double>::infinity();
}

double Lattice::point_quantile(double level) const {
  double below = 0;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    below += mass[i];
    if (mass[i] > 0 && below >= level * (1 - 1e-14)) return point(i);
  }
  return std::numeric_limits<double>::infinity();
}

double Lattice::cdf(double x) const {
  double below = 0;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    const double into = atom_at_zero(i) ? (x >= 0 ? 1 : 0) : (x - point(i)) / step + 0.5;
    if (into <= 0) break;
    below += mass[i] * std::min(1.0, into);
  }
  return below;
}

}  // namespace evenkeel::maths
