#pragma once

#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "maths/interval.hpp"

namespace evenkeel::planning {

/// A number that was measured, with what it rests on.
struct Estimate {
  double value = 0;
  maths::Interval interval;  ///< 95 %
  std::size_t samples = 0;   ///< of what `provenance` says
  std::string provenance;    ///< samples of what, estimator, its source
};

/// Or the reason why the data does not carry it.
using Fitted = Result<Estimate>;

}  // namespace evenkeel::planning
