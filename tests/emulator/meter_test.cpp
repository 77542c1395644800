// What the meter says of an engine, against the same computed from the requests alone.
#include "emulator/meter.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.hpp"
#include "emulator/dense_ranks.hpp"
#include "engine/presets.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::emulator {
namespace {

using engine::EngineConfig;
using engine::RequestId;

constexpr std::size_t ranks = 4;

struct Load {
  std::size_t rank = 0;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
};

/// Prompts that come with their KV; everybody has a slot, so all begin at once.
EngineConfig decode_ranks() {
  EngineConfig config = engine::preset("paper").value();
  config.ranks = ranks;
  config.pause_check_steps = 1;
  config.slots = 64;
  return config;
}

std::vector<Load> random_loads(std::size_t count) {
  Random random(11);
  std::vector<Load> loads;
  for (std::size_t i = 0; i < count; ++i) {
    loads.push_back({static_cast<std::size_t>(random.below(ranks)), static_cast<std::int64_t>(1 + random.below(9000)),
                     static_cast<std::int64_t>(1 + random.below(300))});
  }
  return loads;
}

/// Feeds a meter as the live engine does.
class Feed final : public engine::EngineSink {
 public:
  explicit Feed(Meter& meter) : meter_(meter) {}
  void on_event(const engine::EngineEvent& event) override {
    using Kind = engine::EngineEvent::Kind;
    if (event.kind == Kind::tokens) {
      meter_.tokens(event.count.value());
      generated_[event.id] += event.count.value();
    }
    if (event.kind == Kind::finished) meter_.finished(event.at - Time{}, generated_[event.id]);
  }
  void on_step(const engine::StepReport& report) override {
    ++steps_;
    meter_.step(report, report.end + Duration(steps_ % 7), steps_ % 10 == 0);
  }
  void run_dry(engine::EngineModel& engine) {
    while (const auto due = engine.next_event()) {
      engine.advance(*due, *this);
      meter_.look(*due, engine);
    }
  }

 private:
  Meter& meter_;
  std::map<RequestId, std::int64_t> generated_;
  int steps_ = 0;
};

void submit_all(engine::EngineModel& engine, const std::vector<Load>& loads) {
  for (RequestId id = 0; id < loads.size(); ++id) {
    const Load& load = loads[id];
    engine::testing::submit(engine, 0, engine::testing::request(id, load.prompt, load.output, load.rank));
  }
}

/// KV tokens of each rank in its k-th step, from 1: a request of prompt s holds s + k - 1.
std::vector<double> loads_in_step(const std::vector<Load>& loads, std::int64_t k, double& running) {
  std::vector<double> held(ranks);
  for (const Load& load : loads) {
    if (k > load.output) continue;
    held[load.rank] += static_cast<double>(load.prompt + k - 1);
    ++running;
  }
  return held;
}

double percentile_of(std::vector<double> values, double p) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(std::floor(static_cast<double>(values.size() - 1) * p / 100))];
}

TEST(Meter, OfRanksThatShareTheirStepsAgreesWithTheClosedForm) {
  const auto config = decode_ranks();
  const auto engine = engine::testing::make(config);
  const auto loads = random_loads(100);
  submit_all(*engine, loads);
  Meter meter(ranks, config.slots, true);
  Feed(meter).run_dry(*engine);
  const Measured measured = meter.result();

  std::int64_t steps = 0;
  double tokens = 0;
  for (const Load& load : loads) {
    steps = std::max(steps, load.output);
    tokens += static_cast<double>(load.output);
  }
  double clock_ms = 0;
  double imbalance = 0;
  double idle = 0;
  double sum_of_loads = 0;
  double running = 0;
  std::vector<double> ends_ms{0};
  for (std::int64_t k = 1; k <= steps; ++k) {
    const auto held = loads_in_step(loads, k, running);
    const double largest = *std::ranges::max_element(held);
    double apart = 0;
    for (const double load : held) {
      apart += largest - load;
      sum_of_loads += load;
    }
    imbalance += apart;
    idle += apart / (static_cast<double>(ranks) * largest);
    clock_ms += 70 + 2e-4 * largest;
    ends_ms.push_back(clock_ms);
  }
  std::vector<double> tpots;
  for (const Load& load : loads) {
    tpots.push_back(ends_ms[static_cast<std::size_t>(load.output)] / static_cast<double>(load.output));
  }
  const auto n = static_cast<double>(steps);
  EXPECT_EQ(measured.steps, steps);
  EXPECT_NEAR(measured.window_s, clock_ms / 1e3, 1e-6);
  EXPECT_NEAR(measured.step_ms, clock_ms / n, 1e-5);
  EXPECT_NEAR(measured.mean_imbalance, imbalance / n, 1e-6 * imbalance / n);
  EXPECT_NEAR(measured.idle, idle / n, 1e-9);
  EXPECT_NEAR(measured.mean_load, sum_of_loads / n / ranks, 1e-6);
  EXPECT_NEAR(measured.occupancy, running / n / static_cast<double>(ranks * 64), 1e-9);
  EXPECT_EQ(measured.tokens, static_cast<std::int64_t>(tokens));
  EXPECT_NEAR(measured.throughput, tokens / clock_ms * 1e3, 1e-3);
  EXPECT_EQ(measured.requests, 100);
  EXPECT_NEAR(measured.tpot_p50_ms, percentile_of(tpots, 50), 0.001 * measured.tpot_p50_ms);
  EXPECT_NEAR(measured.tpot_p95_ms, percentile_of(tpots, 95), 0.001 * measured.tpot_p95_ms);
  EXPECT_NEAR(measured.tpot_p99_ms, percentile_of(tpots, 99), 0.001 * measured.tpot_p99_ms);
  EXPECT_EQ(measured.late_steps, steps / 10);
  EXPECT_NEAR(measured.longest_lag_ms, 6e-6, 1e-9);
}

TEST(Meter, OfRanksThatStepByThemselvesIsAMeanOverTime) {
  const auto config = decode_ranks();
  const auto loads = random_loads(60);
  auto dense = DenseRanks::make(config).value();
  submit_all(*dense, loads);
  Meter meter(ranks, config.slots, false);
  Feed(meter).run_dry(*dense);
  const Measured measured = meter.result();

  // When each rank's steps end, and what it holds in them; then a sum over the merged instants.
  struct Stretch {
    double end_ms;
    double load;
  };
  std::vector<std::vector<Stretch>> of_rank(ranks);
  std::vector<double> instants;
  double steps = 0;
  double steps_ms = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    double clock_ms = 0;
    for (std::int64_t k = 1;; ++k) {
      double ignored = 0;
      const double load = loads_in_step(loads, k, ignored)[rank];
      if (load == 0) break;
      clock_ms += 70 + 2e-4 * load;
      of_rank[rank].push_back({clock_ms, load});
      instants.push_back(clock_ms);
      ++steps;
    }
    steps_ms += clock_ms;
  }
  std::ranges::sort(instants);
  double imbalance = 0;
  double before = 0;
  for (const double now : instants) {
    double sum = 0;
    double largest = 0;
    for (const auto& stretches : of_rank) {
      const auto stands =
          std::ranges::upper_bound(stretches, (before + now) / 2, {}, [](const Stretch& s) { return s.end_ms; });
      const double load = stands == stretches.end() ? 0 : stands->load;
      sum += load;
      largest = std::max(largest, load);
    }
    imbalance += (now - before) * (static_cast<double>(ranks) * largest - sum);
    before = now;
  }
  EXPECT_EQ(measured.steps, static_cast<std::int64_t>(steps));
  EXPECT_NEAR(measured.step_ms, steps_ms / steps, 1e-5);
  EXPECT_NEAR(measured.window_s, instants.back() / 1e3, 1e-6);
  EXPECT_NEAR(measured.mean_imbalance, imbalance / instants.back(), 1e-5 * measured.mean_imbalance);
}

TEST(Meter, BeginsAnewWithTheNextStepAndLeavesOutEmptyOnes) {
  auto config = decode_ranks();
  config.pause_check_steps = 32;
  const auto engine = engine::testing::make(config);
  Meter meter(ranks, config.slots, true);
  Feed feed(meter);
  submit_all(*engine, {{0, 1000, 10}});
  const Time in_step_3 = Time{} + std::chrono::milliseconds(70 * 2 + 20);
  while (*engine->next_event() <= in_step_3) {
    const Time due = *engine->next_event();
    engine->advance(due, feed);
    meter.look(due, *engine);
  }
  meter.restart(in_step_3);
  feed.run_dry(*engine);
  const Measured measured = meter.result();
  EXPECT_EQ(measured.steps, 7);  // the fourth to the tenth; behind them 22 empty ones
  EXPECT_EQ(measured.tokens, 7);
  EXPECT_EQ(measured.requests, 1);
  EXPECT_NEAR(measured.mean_load, (1003 + 1009) / 2.0 / ranks, 1e-9);
  EXPECT_NEAR(measured.window_s, 7 * (0.070 + 2e-7 * 1006), 1e-6);
}

TEST(DenseRanks, EachRankDoesWhatItWouldDoAlone) {
  const auto config = decode_ranks();
  const auto loads = random_loads(40);
  auto dense = DenseRanks::make(config).value();
  submit_all(*dense, loads);
  engine::testing::Recorder together;
  engine::testing::run_dry(*dense, together);
  EXPECT_TRUE(std::ranges::is_sorted(together.events, {}, [](const auto& event) { return event.at; }));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto alone = engine::testing::make(DenseRanks::config_of_rank(config, rank));
    for (RequestId id = 0; id < loads.size(); ++id) {
      if (loads[id].rank != rank) continue;
      engine::testing::submit(*alone, 0, engine::testing::request(id, loads[id].prompt, loads[id].output));
    }
    engine::testing::Recorder seen;
    engine::testing::run_dry(*alone, seen);
    for (RequestId id = 0; id < loads.size(); ++id) {
      if (loads[id].rank != rank) continue;
      EXPECT_EQ(together.tokens(id), seen.tokens(id)) << "request " << id;
    }
  }
}

}  // namespace
}  // namespace evenkeel::emulator
