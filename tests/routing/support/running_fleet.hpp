#pragma once

// Fleets whose workers run requests of known age, for policies that project loads; and forecasts that say what a test
// tells them to.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "routing/support/views.hpp"

namespace evenkeel::routing::testing {

/// A Fleet with running requests; loads and spans are kept in step by settle().
class RunningFleet : public Fleet {
 public:
  using Fleet::Fleet;

  void run(std::size_t worker, std::int64_t prompt, std::int64_t generated) {
    running.resize(workers.size());
    fleet::RunningView request;
    request.id = RequestId{next_id_++};
    request.prompt_tokens = Tokens(prompt);
    request.generated = generated;
    running[worker].push_back(request);
    settle();
  }
  void settle() {
    running.resize(workers.size());
    for (std::size_t g = 0; g < workers.size(); ++g) {
      fleet::Load load;
      for (const fleet::RunningView& request : running[g]) {
        ++load.in_flight;
        load.prompt_tokens += request.prompt_tokens;
        load.generated_tokens += Tokens(request.generated);
      }
      workers[g].load = load;
      workers[g].running = running[g];
    }
  }
  [[nodiscard]] fleet::FleetView view() const { return {workers, prompt_weight, step}; }

  std::vector<std::vector<fleet::RunningView>> running;
  std::int64_t step = 0;

 private:
  std::uint64_t next_id_ = 1;
};

/// `slots` slots a worker, up to all but one in use by requests of random size and age; some foreign tokens.
inline void run_randomly(RunningFleet& fleet, Random& random, std::int64_t slots, std::int64_t longest_prompt) {
  fleet.settle();
  for (std::size_t g = 0; g < fleet.workers.size(); ++g) {
    fleet.workers[g].max_in_flight = slots;
    const std::uint64_t count = random.below(static_cast<std::uint64_t>(slots) + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      fleet.run(g, 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(longest_prompt))),
                static_cast<std::int64_t>(random.below(200)));
    }
    fleet.workers[g].foreign_tokens = Tokens(static_cast<std::int64_t>(random.below(3) * random.below(100)));
  }
}

/// Waiting requests of random size; each is barred from each worker with probability `barred`.
class WaitingPool {
 public:
  WaitingPool(const RunningFleet& fleet, Random& random, std::size_t count, std::int64_t longest_prompt, double barred)
      : candidates_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::uint32_t g : fleet.all()) {
        if (fleet.workers[g].free_slots() > 0 && random.unit() >= barred) candidates_[i].push_back(g);
      }
      if (candidates_[i].empty()) continue;
      fleet::WaitingView request = request_for(
          candidates_[i], 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(longest_prompt))));
      request.id = RequestId{1000 + i};
      waiting.push_back(request);
    }
  }
  WaitingPool(const WaitingPool&) = delete;
  WaitingPool& operator=(const WaitingPool&) = delete;

  std::vector<fleet::WaitingView> waiting;

 private:
  std::vector<std::vector<std::uint32_t>> candidates_;
};

inline std::vector<fleet::Placement> plan(Policy& policy, const RunningFleet& fleet,
                                          std::span<const fleet::WaitingView> waiting, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<fleet::Placement> placements;
  policy.plan(waiting, fleet.view(), Time{}, random, placements);
  return placements;
}

/// Answers from a function of id and age, and counts what it was asked and told.
class ToldForecast final : public forecast::Forecast {
 public:
  using Answer = std::function<double(const fleet::RunningView&, std::int64_t horizon)>;
  explicit ToldForecast(Answer answer) : answer_(std::move(answer)) {}

  [[nodiscard]] std::string_view name() const override { return "told"; }
  [[nodiscard]] double remaining(const fleet::RunningView& request, std::int64_t horizon) const override {
    ++asked;
    return answer_(request, horizon);
  }
  [[nodiscard]] double survival(const fleet::RunningView&, std::int64_t) const override { return 1; }
  void finished(const fleet::LeaseSummary&, Time) override { ++told_finished; }
  void running(const fleet::FleetView&, Time) override { ++told_running; }

  mutable int asked = 0;
  int told_finished = 0;
  int told_running = 0;

 private:
  Answer answer_;
};

/// A forecast that is a fixed function of id and age: between 1 and 1.3 horizons, cut at the horizon.
inline double scattered(const fleet::RunningView& request, std::int64_t horizon) {
  const double share =
      static_cast<double>(mix64(request.id.value * 4096 + static_cast<std::uint64_t>(request.generated)) >> 40) /
      (1 << 24);
  return std::min(static_cast<double>(horizon), 1 + share * 1.3 * static_cast<double>(horizon));
}

/// It, for one model and without a guard.
inline std::shared_ptr<forecast::ByModel> unguarded(std::shared_ptr<forecast::Forecast> forecast) {
  return std::make_shared<forecast::ByModel>([forecast] { return forecast; }, forecast::ByModel::Options{});
}

/// Parts that give `forecast` whatever name is asked for, to one model.
inline PolicyParts parts_with(std::shared_ptr<forecast::Forecast> forecast) {
  PolicyParts parts;
  parts.forecast = [forecast](std::string_view) -> Result<forecast::ForecastMaker> {
    return [forecast] { return forecast; };
  };
  return parts;
}

}  // namespace evenkeel::routing::testing
