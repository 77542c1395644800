#include "redline/arrival_reserve.hpp"

#include <algorithm>

#include "maths/compound_moments.hpp"

namespace evenkeel::redline {

double arrival_reserve(const WindowDemand& demand, double level) {
  if (demand.arrivals <= 0) return 0;
  const maths::Shape shape = maths::compound_shape(maths::CountLaw::poisson(demand.arrivals),
                                                   maths::uniform_moments(demand.least, demand.most));
  return std::max(0.0, shape.cornish_fisher(level));
}

}  // namespace evenkeel::redline
