#pragma once

#include <cstddef>

#include "base/error.hpp"
#include "maths/count_law.hpp"
#include "maths/lattice.hpp"

namespace evenkeel::maths {

/// The law of M_1 + ... + M_K for independent M of law `severity` (nothing under 0, total 1) and K of law `count`, by
/// Panjer's recursion (Panjer 1981, "Recursive evaluation of a family of compound distributions"), from 0 upward until
/// its mass reaches `level` and two cells more. Runs of equal masses in the severity cost a constant each by prefix
/// sums, so a uniform severity costs O(cells); any other O(cells * severity's cells). The start may underflow (a
/// Poisson mean past 745): the recursion is linear, so it runs on scaled masses. Fails if the level is not reached
/// within `most_cells`.
[[nodiscard]] Result<Lattice> compound_by_recursion(const CountLaw& count, const Lattice& severity, double level,
                                                    std::size_t most_cells = std::size_t{1} << 22);

/// How many runs of equal masses the severity has: the cost of one cell.
[[nodiscard]] std::size_t run_count(const Lattice& severity);

}  // namespace evenkeel::maths
