#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "planning/fleet_plan.hpp"

namespace evenkeel::planning {

/// The pooled reserve sums a window of every worker, as if all had begun to scale at once. How many windows are open at
/// an instant, and how much of each is left, depends on what an arrival does to a window that is open.
struct WindowReading {
  std::string_view name;
  std::string_view words;
  double open_nodes = 0;  ///< expected
  double mean = 0;        ///< of the demand until each window's own close
  double reserve = 0;     ///< at the plan's level
};

/// Four readings: all windows open; the open ones for a whole window each; windows that every arrival renews; windows
/// that the first arrival opens and no other renews. By Fourier transform, the time left by Gauss and Legendre's rule.
/// Rates are taken as constant and arrivals as independent: profile and correlation are not looked at.
[[nodiscard]] std::array<WindowReading, 4> window_readings(const FleetPlan& plan, std::size_t resource,
                                                           std::span<const std::size_t> groups);

}  // namespace evenkeel::planning
