#pragma once

#include <string>

#include "cli/fit_source.hpp"

namespace evenkeel::cli {

// What `evenkeel plan fit --from` says of a fit: for a person, as one JSON object, and as pictures.

[[nodiscard]] std::string fit_text(const FitSource::Read& read);
[[nodiscard]] std::string fit_json(const FitSource::Read& read, const std::string& from);
/// How many requests last longer, with the fitted tail and an exponential law over the same threshold; SVG.
[[nodiscard]] std::string tail_svg(const planning::FleetFit& fit);
/// Arrivals by window, smoothed, and the stretches of about one rate; SVG.
[[nodiscard]] std::string rate_svg(const planning::FleetFit& fit);

}  // namespace evenkeel::cli
