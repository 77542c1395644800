#pragma once

// BalanceRoute written out from the published pseudo-code, as slowly as it reads: every score is the sum over all
// offsets of all workers' loads, every subset is looked at. The policies are compared with it.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "routing/open_slots.hpp"
#include "routing/support/running_fleet.hpp"

namespace evenkeel::routing::testing {

/// (request, worker) of each placement, in order.
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

[[nodiscard]] inline Pairs pairs(const std::vector<fleet::Placement>& placements) {
  Pairs all;
  for (const auto& placement : placements) all.emplace_back(placement.request, placement.worker);
  return all;
}

struct PublishedBr {
  std::int64_t window = 4;  ///< R_max
  std::int64_t greedy = 7;  ///< S_greedy
  double beta = 1;
  double gamma = 1;

  std::span<const fleet::WaitingView> waiting = {};
  std::vector<std::vector<double>> loads = {};  ///< [worker][offset], projected
  std::vector<std::int64_t> free = {};
  std::vector<std::uint32_t> order = {};
  std::vector<std::uint32_t> pool = {};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> admitted = {};  ///< request, worker, in the order of admission

  /// `seed` draws the order in which equal workers are taken, which the paper leaves open.
  void begin(const RunningFleet& fleet, std::span<const fleet::WaitingView> requests, std::uint64_t seed,
             std::int64_t horizon, const std::function<double(const fleet::RunningView&)>& remaining) {
    waiting = requests;
    Random random(seed);
    OpenSlots slots;
    slots.begin(waiting, fleet.view(), random);
    order.assign(slots.workers().begin(), slots.workers().end());
    for (std::uint32_t i = 0; i < waiting.size(); ++i) pool.push_back(i);
    for (std::size_t g = 0; g < fleet.workers.size(); ++g) {
      free.push_back(fleet.workers[g].free_slots());
      auto& row = loads.emplace_back();
      for (std::int64_t h = 0; h <= horizon; ++h) {
        double load = fleet.workers[g].foreign_tokens.as_double();
        for (const fleet::RunningView& request : fleet.running[g]) {
          const double c = remaining(request);
          const bool there = h == 0 || c >= static_cast<double>(horizon) || static_cast<double>(h) < c;
          if (there) load += static_cast<double>(request.prompt_tokens.value() + request.generated + h);
        }
        row.push_back(load);
      }
    }
  }

  void run() {
    while (open() > greedy && !pool.empty()) {
      const auto g = argmax([&](std::size_t a, std::size_t b) {
        return free[a] != free[b] ? free[a] > free[b] : loads[a][0] < loads[b][0];
      });
      admit({best_single(g, pool)}, g);
    }
    while (open() > 0 && !pool.empty()) {
      const auto g = argmax(
          [&](std::size_t a, std::size_t b) { return free[a] != free[b] ? free[a] > free[b] : slack(a) > slack(b); });
      const std::vector<std::uint32_t> window_of(
          pool.begin(), pool.begin() + std::min<std::ptrdiff_t>(window, static_cast<std::ptrdiff_t>(pool.size())));
      auto best = best_subset(g, window_of);
      if (score(g, total(best)) <= 0) best = {best_single(g, window_of)};
      admit(best, g);
    }
  }

  [[nodiscard]] std::int64_t open() const { return std::accumulate(free.begin(), free.end(), std::int64_t{0}); }
  [[nodiscard]] double peak(std::size_t h) const {
    double most = loads[0][h];
    for (const auto& row : loads) most = std::max(most, row[h]);
    return most;
  }
  [[nodiscard]] double slack(std::size_t g) const {
    double least = 1e300;
    for (std::size_t h = 0; h < loads[g].size(); ++h) least = std::min(least, peak(h) - loads[g][h]);
    return least;
  }
  [[nodiscard]] double score(std::size_t g, double b) const {
    double sum = 0;
    for (std::size_t h = 0; h < loads[g].size(); ++h) {
      sum += std::pow(gamma, static_cast<double>(h)) * (b - beta * std::max(0.0, b - (peak(h) - loads[g][h])));
    }
    return sum;
  }
  [[nodiscard]] double total(const std::vector<std::uint32_t>& requests) const {
    double sum = 0;
    for (const std::uint32_t i : requests) sum += waiting[i].prompt_tokens.as_double();
    return sum;
  }

 private:
  template <class Before>
  [[nodiscard]] std::size_t argmax(Before before) const {
    std::size_t best = order.front();
    for (const std::uint32_t g : order) {
      if (free[best] == 0 || (free[g] > 0 && before(g, best))) best = g;
    }
    return best;
  }
  [[nodiscard]] std::uint32_t best_single(std::size_t g, const std::vector<std::uint32_t>& among) const {
    std::uint32_t best = among.front();
    for (const std::uint32_t i : among) {
      if (score(g, total({i})) > score(g, total({best})) + 1e-6) best = i;
    }
    return best;
  }
  [[nodiscard]] std::vector<std::uint32_t> best_subset(std::size_t g, const std::vector<std::uint32_t>& among) const {
    std::vector<std::uint32_t> best = {among.front()};
    for (std::uint32_t set = 1; set < 1U << among.size(); ++set) {
      std::vector<std::uint32_t> members;
      for (std::size_t i = 0; i < among.size(); ++i) {
        if ((set >> i & 1) != 0) members.push_back(among[i]);
      }
      if (static_cast<std::int64_t>(members.size()) > free[g]) continue;
      if (score(g, total(members)) > score(g, total(best)) + 1e-6) best = members;
    }
    return best;
  }
  void admit(const std::vector<std::uint32_t>& requests, std::size_t g) {
    for (const std::uint32_t i : requests) {
      admitted.emplace_back(i, static_cast<std::uint32_t>(g));
      pool.erase(std::find(pool.begin(), pool.end(), i));
      free[g] -= 1;
      for (double& load : loads[g]) load += waiting[i].prompt_tokens.as_double();
    }
  }
};

}  // namespace evenkeel::routing::testing
