#include "simulation/stationary_law.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace evenkeel::simulation {

namespace {

/// Adds an even draw from 1..longest to what has this law.
void add_prompt(std::vector<double>& law, std::size_t longest) {
  std::vector<double> next(law.size());
  double window = 0;
  for (std::size_t n = 1; n < law.size(); ++n) {
    window += law[n - 1];
    if (n > longest) window -= law[n - 1 - longest];
    next[n] = std::max(window, 0.0) / static_cast<double>(longest);
  }
  law = std::move(next);
}

/// Adds a geometric age from 0: its generating function stop / (1 - (1 - stop) z) is a recursion of one term.
void add_age(std::vector<double>& law, double stop) {
  double before = 0;
  for (double& mass : law) {
    before = stop * mass + (1 - stop) * before;
    mass = before;
  }
}

}  // namespace

double stationary_imbalance(std::int64_t workers, std::int64_t slots, std::int64_t longest_prompt, double stop) {
  const auto count = static_cast<double>(slots);
  const auto longest = static_cast<double>(longest_prompt);
  const double mean = count * ((longest + 1) / 2 + (1 - stop) / stop);
  const double variance = count * ((longest * longest - 1) / 12 + (1 - stop) / (stop * stop));
  // Beyond 14 deviations and the tail of a single age nothing is left of the law that a double could tell.
  const double range = mean + 14 * std::sqrt(variance) + 40 / stop;
  std::vector<double> law(static_cast<std::size_t>(range) + 2, 0.0);
  law[0] = 1;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    add_prompt(law, static_cast<std::size_t>(longest_prompt));
    add_age(law, stop);
  }
  double largest = 0;  // E[max] = sum over x of P(max > x)
  double below = 0;
  for (const double mass : law) {
    below = std::min(below + mass, 1.0);
    largest += 1 - std::pow(below, static_cast<double>(workers));
  }
  return static_cast<double>(workers) * (largest - mean);
}

}  // namespace evenkeel::simulation
