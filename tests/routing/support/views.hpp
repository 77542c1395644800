#pragma once

// Fleet views to ask policies about: owned storage, seeded random ones, and one call that plans.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "routing/policy.hpp"

namespace evenkeel::routing::testing {

/// Workers w0, w1, ... with slots to spare, no load and nothing learned.
class Fleet {
 public:
  explicit Fleet(std::size_t count, std::int64_t slots = 1000) {
    for (std::size_t i = 0; i < count; ++i) add(static_cast<std::uint32_t>(i), slots);
  }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  void add(std::uint32_t id, std::int64_t slots = 1000) {
    names_.emplace_back("w").append(std::to_string(id));
    fleet::WorkerView view;
    view.id = WorkerId{id};
    view.name = names_.back();
    view.max_in_flight = slots;
    view.rate = &rates_.emplace_back();
    view.mean_output = 256;
    workers.push_back(view);
  }
  /// Teaches worker `index` that it does `per_s` a second at `running`.
  void teach(std::size_t index, double running, double per_s) {
    rates_[index].observe(running, per_s * 10, std::chrono::seconds(10));
  }
  [[nodiscard]] fleet::FleetView view() const { return {workers, prompt_weight}; }
  [[nodiscard]] std::vector<std::uint32_t> all() const {
    std::vector<std::uint32_t> indices(workers.size());
    std::iota(indices.begin(), indices.end(), 0U);
    return indices;
  }

  std::vector<fleet::WorkerView> workers;
  double prompt_weight = 0.1;

 private:
  std::deque<std::string> names_;
  std::deque<fleet::RateCurve> rates_;
};

/// Random loads, some foreign, some rates known; loads from a narrow range so that ties happen.
inline void fill_randomly(Fleet& fleet, Random& random, bool foreign = true) {
  for (std::size_t i = 0; i < fleet.workers.size(); ++i) {
    fleet::WorkerView& worker = fleet.workers[i];
    worker.load.in_flight = static_cast<std::int64_t>(random.below(6));
    const auto prompt = static_cast<std::int64_t>(random.below(4)) * 100 * worker.load.in_flight;
    worker.load.prompt_tokens = Tokens(prompt);
    worker.load.queued_prompt = Tokens(prompt / static_cast<std::int64_t>(1 + random.below(3)));
    worker.load.generated_tokens = Tokens(static_cast<std::int64_t>(random.below(3)) * 50 * worker.load.in_flight);
    worker.mean_output = 100 + static_cast<double>(random.below(400));
    if (foreign && random.below(2) == 0) {
      worker.foreign_requests = static_cast<double>(random.below(5)) / 2;
      worker.foreign_tokens = Tokens(static_cast<std::int64_t>(random.below(500)));
    }
    for (const double running : {1.0, 4.0, 8.0}) {
      if (random.below(3) > 0) fleet.teach(i, running, 20 + 200 * random.unit());
    }
  }
}

inline fleet::WaitingView request_for(std::span<const std::uint32_t> candidates, std::int64_t prompt = 100,
                                      std::uint64_t key = 0, ModelId model = {}) {
  fleet::WaitingView request;
  request.id = RequestId{1};
  request.model = model;
  request.prompt_tokens = Tokens(prompt);
  request.affinity_key = key;
  request.candidates = candidates;
  return request;
}

/// The one placement of one request.
inline fleet::Placement place(Policy& policy, const Fleet& fleet, const fleet::WaitingView& request, Random& random) {
  std::vector<fleet::Placement> placements;
  policy.plan(std::span(&request, 1), fleet.view(), Time{}, random, placements);
  return placements.at(0);
}

/// Value that a chi-squared statistic with `df` degrees of freedom passes once in a million
/// (Wilson and Hilferty 1931).
inline double chi_squared_limit(double df) {
  const double spread = 2 / (9 * df);
  return df * std::pow(1 - spread + 4.75 * std::sqrt(spread), 3);
}
inline double chi_squared(const std::vector<double>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
  return sum;
}

}  // namespace evenkeel::routing::testing
