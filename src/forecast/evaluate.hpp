#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "forecast/forecast.hpp"
#include "forecast/measures.hpp"
#include "forecast/timeline.hpp"

namespace evenkeel::forecast {

struct EvaluationOptions {
  std::int64_t horizon = 80;  ///< tokens
  double share = 0.5;         ///< of the requests, the first by arrival, are only learned from
  TimelineOptions timeline;
};

/// Empty if all is well, else which field is wrong and what is allowed.
[[nodiscard]] std::string fault_of(const EvaluationOptions& options);

/// Lets each forecast live through the requests (in order of arrival), hearing of ends as they come, and asks it about
/// those that arrive from the split on. In the order of `forecasts`.
[[nodiscard]] std::vector<Measures> evaluate(std::span<const PastRequest> requests,
                                             std::span<const std::shared_ptr<Forecast>> forecasts,
                                             const EvaluationOptions& options);

}  // namespace evenkeel::forecast
