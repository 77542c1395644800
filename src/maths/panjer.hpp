#pragma once

#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "maths/count_law.hpp"
#include "maths/lattice.hpp"

namespace evenkeel::maths {

/// The law of M_1 + ... + M_K for independent M of law `severity` (nothing under 0, total 1) and K of law `count`, by
/// Panjer's recursion (Panjer 1981, "Recursive evaluation of a family of compound distributions"), point after point
/// from 0. Runs of equal masses in the severity cost a constant each by prefix sums, so a uniform severity costs O(1) a
/// point; any other as much as it has points. The start may underflow (a Poisson mean past 745): the recursion is
/// linear, so it runs on scaled masses. Memory: a few times the severity's.
class CompoundRecursion {
 public:
  CompoundRecursion(const CountLaw& count, const Lattice& severity);

  /// The mass at the next point.
  double next();

 private:
  /// Equal masses at the points from..to.
  struct Run {
    std::size_t from;
    std::size_t to;
    double height;
  };
  /// Sums of g and of offset * g within a block.
  struct Prefix {
    double zeroth = 0;
    double first = 0;
  };
  [[nodiscard]] double window_term(const Run& run, double per_index) const;
  double push(double g);
  void rescale();
  [[nodiscard]] static std::vector<Run> runs_of(const Lattice& severity);
  friend std::size_t run_count(const Lattice& severity);

  double a_;
  double b_;
  std::vector<Run> singles_;  ///< runs of one point, without the mass at 0
  std::vector<Run> runs_;
  double inverse_;
  double log_scale_;  ///< masses are divided by exp of this
  double scale_;
  std::size_t first_;         ///< index of point 0: so far up that all that lies before it, and is 0, has an index, too
  std::size_t at_;            ///< of the next point
  std::size_t block_;         ///< points in a block, a power of two that no run exceeds
  std::size_t mask_;          ///< of the rings
  std::vector<double> g_;     ///< ring of the masses that the next one needs
  std::vector<Prefix> sums_;  ///< ring
};

/// The quantile of that law in Lattice's conventions: masses spread over half a step to both sides, or, where `points`
/// says so, the point itself. Fails if the level is not reached within `most` points.
[[nodiscard]] Result<double> quantile_by_recursion(const CountLaw& count, const Lattice& severity, double level,
                                                   bool points = false, std::size_t most = std::size_t{1} << 23);

/// How many runs of equal masses the severity has: the cost of one cell.
[[nodiscard]] std::size_t run_count(const Lattice& severity);

}  // namespace evenkeel::maths
