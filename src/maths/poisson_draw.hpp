#pragma once

#include "base/random.hpp"

namespace evenkeel::maths {

/// How many of a Poisson law of that mean (0 to 1e6): by its gaps for small means, in halves for large ones.
[[nodiscard]] int draw_poisson(double mean, Random& random);

}  // namespace evenkeel::maths
