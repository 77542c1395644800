#include "maths/poisson_draw.hpp"

namespace evenkeel::maths {

int draw_poisson(double mean, Random& random) {
  if (mean > 32) return draw_poisson(mean / 2, random) + draw_poisson(mean / 2, random);
  int count = 0;
  for (double left = mean - random.exponential(1); left > 0; left -= random.exponential(1)) ++count;
  return count;
}

}  // namespace evenkeel::maths
