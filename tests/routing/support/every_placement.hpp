#pragma once

// Every way to place some requests, one after the other, and what each comes to: what exact policies are compared with.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "routing/support/running_fleet.hpp"

namespace evenkeel::routing::testing {

/// Loads by worker and offset: foreign tokens, those that run and have not left, those placed, all of ours growing by
/// one an offset.
class Outlook {
 public:
  Outlook(const RunningFleet& fleet, std::int64_t horizon,
          const std::function<double(const fleet::RunningView&)>& remaining) {
    for (std::size_t g = 0; g < fleet.workers.size(); ++g) {
      std::vector<double> row;
      for (std::int64_t h = 0; h <= horizon; ++h) {
        double load = fleet.workers[g].foreign_tokens.as_double();
        for (const fleet::RunningView& request : fleet.running[g]) {
          const double c = remaining(request);
          if (c >= static_cast<double>(horizon) || static_cast<double>(h) < c || h == 0) {
            load += static_cast<double>(request.prompt_tokens.value() + request.generated + h);
          }
        }
        row.push_back(load);
      }
      loads_.push_back(std::move(row));
    }
  }

  /// sum over h of gamma^h (G max load - sum of loads), with `place[i]` the worker of request i or -1.
  [[nodiscard]] double cost(std::span<const fleet::WaitingView> waiting, const std::vector<int>& place,
                            double gamma) const {
    auto loads = loads_;
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (place[i] < 0) continue;
      auto& row = loads[static_cast<std::size_t>(place[i])];
      for (std::size_t h = 0; h < row.size(); ++h) {
        row[h] += waiting[i].prompt_tokens.as_double() + static_cast<double>(h);
      }
    }
    double sum = 0;
    for (std::size_t h = 0; h < loads[0].size(); ++h) {
      double peak = loads[0][h], all = 0;
      for (const auto& row : loads) {
        peak = std::max(peak, row[h]);
        all += row[h];
      }
      sum += std::pow(gamma, static_cast<double>(h)) * (peak * static_cast<double>(loads.size()) - all);
    }
    return sum;
  }

 private:
  std::vector<std::vector<double>> loads_;
};

struct BestPlacement {
  int entered = 0;
  double cost = std::numeric_limits<double>::infinity();
};

/// As many as can enter at all, at the least cost.
inline BestPlacement best_of_every_placement(const RunningFleet& fleet, std::span<const fleet::WaitingView> waiting,
                                             const std::function<double(const std::vector<int>&)>& cost) {
  BestPlacement best;
  std::vector<int> place(waiting.size(), -1);
  std::vector<std::int64_t> free;
  for (const auto& worker : fleet.workers) free.push_back(worker.free_slots());
  const std::function<void(std::size_t, int)> walk = [&](std::size_t i, int entered) {
    if (i == waiting.size()) {
      if (entered < best.entered) return;
      const double value = cost(place);
      if (entered > best.entered || value < best.cost) best = {entered, value};
      return;
    }
    walk(i + 1, entered);
    for (const std::uint32_t g : waiting[i].candidates) {
      if (free[g] == 0) continue;
      --free[g];
      place[i] = static_cast<int>(g);
      walk(i + 1, entered + 1);
      place[i] = -1;
      ++free[g];
    }
  };
  walk(0, 0);
  return best;
}

/// Where each request went, -1 for those that wait on.
inline std::vector<int> places(const std::vector<fleet::Placement>& placements, std::size_t waiting) {
  std::vector<int> place(waiting, -1);
  for (const auto& placement : placements) place[placement.request] = static_cast<int>(placement.worker);
  return place;
}

}  // namespace evenkeel::routing::testing
