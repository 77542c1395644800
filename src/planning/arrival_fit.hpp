#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maths/change_detector.hpp"
#include "planning/estimate.hpp"
#include "planning/observation.hpp"

namespace evenkeel::planning {

/// How heavy requests arrive.
struct ArrivalFit {
  double span_s = 0;           ///< of whole windows
  std::vector<double> counts;  ///< of arrivals, by window
  std::uint32_t nodes = 0;     ///< as told, else those seen; 0: neither

  Fitted rate;                            ///< a second, whole fleet, over everything
  Fitted recent_rate;                     ///< the same, smoothed over windows, at the end
  Fitted dispersion;                      ///< variance over mean of the counts: a drifting rate counts in
  Fitted dispersion_about_drift;          ///< the same about the rate
  Fitted correlation;                     ///< of two nodes' counts, that the dispersion about the drift implies
  Fitted correlation_of_pairs;            ///< the same, measured between workers: what routing does to them counts in
  std::vector<maths::Stretch> stretches;  ///< of about one rate, in windows
};

/// `heavy` and options must have passed their checks; `span_s` is what was looked at, of which whole windows count.
[[nodiscard]] ArrivalFit fit_arrivals(std::span<const Observation> heavy, double span_s, const FitOptions& options);

}  // namespace evenkeel::planning
