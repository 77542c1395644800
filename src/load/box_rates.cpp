#include "load/box_rates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace evenkeel::load {

namespace {

constexpr double least_part = 0.01;  // of the busy time, that a level is told; one of most_measured_slots always has it

using Levels = std::array<double, most_measured_slots>;  // by requests running, less one

struct Change {
  double at_s = 0;
  bool begins = false;
  std::size_t place = 0;
};

/// Ends before beginnings of the same moment: a slot is free before it is taken.
std::vector<Change> changes_of(std::span<const Served> served) {
  std::vector<Change> changes;
  changes.reserve(2 * served.size());
  for (std::size_t i = 0; i < served.size(); ++i) {
    if (!(served[i].end_s > served[i].begin_s)) continue;
    changes.push_back({served[i].begin_s, true, i});
    changes.push_back({served[i].end_s, false, i});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.at_s != b.at_s ? a.at_s < b.at_s : a.begins != b.begins ? b.begins : a.place < b.place;
  });
  return changes;
}

/// Seconds spent at each level; the count is the highest one, or more than there may be.
std::size_t seconds_by_level(const std::vector<Change>& changes, Levels& seconds) {
  std::size_t running = 0;
  std::size_t most = 0;
  double before = 0;
  for (const Change& change : changes) {
    if (running > 0 && running <= seconds.size()) seconds[running - 1] += change.at_s - before;
    before = change.at_s;
    running += change.begins ? 1U : std::size_t{0} - 1U;
    most = std::max(most, running);
  }
  return most;
}

/// The normal equations: products[j][k] sums what requests ran at level j times at level k, gained[j] times tokens.
struct Equations {
  std::vector<Levels> products{most_measured_slots, Levels{}};
  Levels gained{};

  void add(const Levels& ran_s, std::size_t levels, double made) {
    for (std::size_t j = 0; j < levels; ++j) {
      if (ran_s[j] <= 0) continue;
      gained[j] += ran_s[j] * made;
      for (std::size_t k = 0; k < levels; ++k) products[j][k] += ran_s[j] * ran_s[k];
    }
  }
};

Equations equations_of(std::span<const Served> served, const std::vector<Change>& changes, std::size_t levels) {
  Equations equations;
  Levels passed{};
  std::vector<Levels> at_begin(levels);  // of those that run
  std::vector<std::size_t> place_of(served.size());
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < levels; ++k) free.push_back(k);
  std::size_t running = 0;
  double before = 0;
  for (const Change& change : changes) {
    if (running > 0) passed[running - 1] += change.at_s - before;
    before = change.at_s;
    if (change.begins) {
      place_of[change.place] = free.back();
      free.pop_back();
      at_begin[place_of[change.place]] = passed;
      ++running;
      continue;
    }
    --running;
    Levels ran_s = passed;
    const std::size_t place = place_of[change.place];
    for (std::size_t k = 0; k < levels; ++k) ran_s[k] -= at_begin[place][k];
    equations.add(ran_s, levels, served[change.place].tokens);
    free.push_back(place);
  }
  return equations;
}

/// Least squares without negative values, one coordinate after the other: the sum of squares is convex, so it ends at
/// the least; where requests do not tell two levels apart, near the mean, which it begins with.
Levels solve(const Equations& equations, std::size_t levels, double mean) {
  Levels speed;
  speed.fill(mean);
  for (int round = 0; round < 5000; ++round) {
    double moved = 0;
    for (std::size_t k = 0; k < levels; ++k) {
      const double own = equations.products[k][k];
      if (!(own > 0)) continue;
      double rest = equations.gained[k];
      for (std::size_t j = 0; j < levels; ++j) rest -= j == k ? 0 : equations.products[k][j] * speed[j];
      const double next = std::max(0.0, rest / own);
      moved = std::max(moved, std::abs(next - speed[k]) / std::max(next, 1e-9));
      speed[k] = next;
    }
    if (moved < 1e-9) break;
  }
  return speed;
}

}  // namespace

std::vector<std::optional<double>> rates_by_level(std::span<const Served> served) {
  const auto changes = changes_of(served);
  Levels seconds{};
  const std::size_t most = seconds_by_level(changes, seconds);
  if (most == 0 || most > most_measured_slots) return {};
  double busy = 0;
  for (const double level : seconds) busy += level;
  double ran_s = 0;  // of all requests
  double tokens = 0;
  for (std::size_t k = 0; k < most; ++k) ran_s += seconds[k] * static_cast<double>(k + 1);
  for (const Served& one : served) tokens += one.tokens;
  const Levels speed = solve(equations_of(served, changes, most), most, tokens / ran_s);
  std::vector<std::optional<double>> rates;
  for (std::size_t k = 0; k < most; ++k) {
    if (seconds[k] < least_part * busy) continue;
    rates.resize(k + 1);
    rates[k] = speed[k] * static_cast<double>(k + 1);
  }
  return rates;
}

}  // namespace evenkeel::load
