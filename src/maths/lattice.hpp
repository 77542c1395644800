#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace evenkeel::maths {

/// P(M <= x) and E[M; M <= x], up to constants: only differences are used.
struct PartialMoments {
  double mass = 0;
  double first = 0;
};

/// A law by its masses at step * (first + 0, 1, 2, ...). What is put in is split between the two neighbouring points so
/// that its mean stays (linear dispersal: Gerber 1982, "On the numerical evaluation of the distribution of aggregate
/// claims", the method of local moments of order one); its variance grows by at most step^2 / 4, a uniform's by
/// step^2 / 6.
struct Lattice {
  double step = 1;
  std::int64_t first = 0;
  std::vector<double> mass;

  explicit Lattice(double lattice_step = 1) : step(lattice_step) {}

  void add_atom(double at, double weight);
  /// Even over [from, to], from < to: all inner masses come out as the same number.
  void add_uniform(double from, double to, double weight);
  /// A law on [from, to] by its partial moments. Cost: one question a cell.
  void add_spread(double from, double to, const std::function<PartialMoments(double)>& below);
  void scale(double factor);

  [[nodiscard]] double point(std::size_t i) const {
    return step * static_cast<double>(first + static_cast<std::int64_t>(i));
  }
  [[nodiscard]] double total() const;
  /// E[M^power] of the masses as they are, not divided by their total.
  [[nodiscard]] double moment(int power) const;

  /// The smallest x with P(M <= x) >= level, each mass spread evenly over half a step to both sides; the mass at 0 of a
  /// law that has nothing under 0 stays there. +inf where the masses do not reach the level.
  [[nodiscard]] double quantile(double level) const;
  /// The smallest point with P(M <= x) >= level: for laws that live on the lattice themselves.
  [[nodiscard]] double point_quantile(double level) const;
  /// P(M <= x) with masses spread in the same way.
  [[nodiscard]] double cdf(double x) const;

 private:
  [[nodiscard]] bool atom_at_zero(std::size_t i) const { return i == 0 && first == 0; }
  double& at(std::int64_t cell);
};

}  // namespace evenkeel::maths
