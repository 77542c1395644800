#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace evenkeel::redline {

/// What one request holds of a resource that grows with its age: fixed + rate_per_s * age.
struct FootprintLaw {
  double fixed = 0;           ///< resident from the start: the prompt's KV
  double rate_per_s = 0;      ///< growth: output tokens a second
  double window_s = 0;        ///< T: over which the reserve bridges
  double mean_s = 0;          ///< E[S] of durations
  double mean_square_s2 = 0;  ///< E[S^2]; infinite for a tail index of 2 or less without a cap
};

/// "The age-weighted footprint" names five quantities in the literature; they differ fivefold for one law.
enum class FootprintReading : unsigned char {
  admission,       ///< P
  window_mean,     ///< P + sigma T / 2: mean at the window's close of what arrived in it
  window_close,    ///< P + sigma T
  mean_duration,   ///< P + sigma E[S]
  residency_mean,  ///< P + sigma E[S^2] / (2 E[S]): at a random instant of residency
};
inline constexpr std::array all_footprint_readings = {FootprintReading::admission, FootprintReading::window_mean,
                                                      FootprintReading::window_close, FootprintReading::mean_duration,
                                                      FootprintReading::residency_mean};
[[nodiscard]] std::string_view to_string(FootprintReading reading);
[[nodiscard]] std::optional<FootprintReading> footprint_reading_named(std::string_view word);

/// A request may end before its window does: window readings go no further than the mean duration where `mean_s` is
/// given (> 0) and shorter than the window.
[[nodiscard]] double footprint(const FootprintLaw& law, FootprintReading reading);

}  // namespace evenkeel::redline
