#include "redline/footprint.hpp"

#include <algorithm>

namespace evenkeel::redline {

std::string_view to_string(FootprintReading reading) {
  switch (reading) {
    case FootprintReading::admission: return "admission";
    case FootprintReading::window_mean: return "window_mean";
    case FootprintReading::window_close: return "window_close";
    case FootprintReading::mean_duration: return "mean_duration";
    case FootprintReading::residency_mean: return "residency_mean";
  }
  return "unknown";
}

std::optional<FootprintReading> footprint_reading_named(std::string_view word) {
  for (const FootprintReading reading : all_footprint_readings) {
    if (to_string(reading) == word) return reading;
  }
  return std::nullopt;
}

double footprint(const FootprintLaw& law, FootprintReading reading) {
  const double window = law.mean_s > 0 ? std::min(law.window_s, law.mean_s) : law.window_s;
  double age = 0;
  switch (reading) {
    case FootprintReading::admission: break;
    case FootprintReading::window_mean: age = window / 2; break;
    case FootprintReading::window_close: age = window; break;
    case FootprintReading::mean_duration: age = law.mean_s; break;
    case FootprintReading::residency_mean: age = law.mean_s > 0 ? law.mean_square_s2 / (2 * law.mean_s) : 0; break;
  }
  return law.fixed + law.rate_per_s * age;
}

}  // namespace evenkeel::redline
