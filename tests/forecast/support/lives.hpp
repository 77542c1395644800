#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "forecast/forecast.hpp"

namespace evenkeel::forecast::testing {

/// The formulas of the papers on raw samples, one pass each, as slow as they read.
struct RawLaw {
  std::vector<std::int64_t> lengths;

  [[nodiscard]] double beyond(std::int64_t age) const {
    return static_cast<double>(std::count_if(lengths.begin(), lengths.end(), [&](std::int64_t v) { return v > age; }));
  }
  /// P(r <= horizon)
  [[nodiscard]] double ends_within(std::int64_t age, std::int64_t horizon) const {
    return (beyond(age) - beyond(age + horizon)) / beyond(age);
  }
  /// E[r | r <= horizon]
  [[nodiscard]] double mean_if_within(std::int64_t age, std::int64_t horizon) const {
    double sum = 0, count = 0;
    for (const std::int64_t v : lengths) {
      if (v <= age || v > age + horizon) continue;
      sum += static_cast<double>(v - age);
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }
  /// (1 - p) H + p mu
  [[nodiscard]] double remaining(std::int64_t age, std::int64_t horizon) const {
    const double p = ends_within(age, horizon);
    return (1 - p) * static_cast<double>(horizon) + p * mean_if_within(age, horizon);
  }
};

inline fleet::LeaseSummary ended(std::uint64_t id, std::int64_t output, std::uint64_t key = 0,
                                 std::int64_t prompt = 100, fleet::Outcome outcome = fleet::Outcome::completed) {
  fleet::LeaseSummary summary;
  summary.request = RequestId{id};
  summary.outcome = outcome;
  summary.prompt_tokens = Tokens(prompt);
  summary.output_tokens = Tokens(output);
  summary.had_output = output > 0;
  summary.prompt_key = key;
  return summary;
}

inline fleet::RunningView in_service(std::uint64_t id, std::int64_t age, std::uint64_t key = 0,
                                     std::int64_t prompt = 100) {
  return {RequestId{id}, Tokens(prompt), age, key, {}};
}

/// Tells the forecast what is in service, all at one worker, when the model's requests are planned.
inline void look(Forecast& forecast, const std::vector<fleet::RunningView>& running, ModelId model = {}) {
  fleet::WorkerView worker;
  worker.running = running;
  const std::vector<fleet::WorkerView> workers = {worker};
  fleet::FleetView fleet;
  fleet.workers = workers;
  fleet.model = model;
  forecast.running(fleet, Time{});
}

}  // namespace evenkeel::forecast::testing
