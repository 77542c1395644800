#pragma once

namespace evenkeel::redline {

/// Demand of what arrives in one window: a Poisson number of footprints, each uniform between `least` and `most`.
struct WindowDemand {
  double arrivals = 0;  ///< mean number
  double least = 0;     ///< of one who came at the window's close: P
  double most = 0;      ///< of one who came at its begin: P + sigma T
};

/// Its quantile by the expansion of Cornish and Fisher to the third order: within 0.25 % from about nine arrivals on,
/// low by a quarter of a per cent at two (room planning inverts the law exactly). 0 with no arrivals.
/// level in (0, 1).
[[nodiscard]] double arrival_reserve(const WindowDemand& demand, double level);

}  // namespace evenkeel::redline
