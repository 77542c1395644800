// The fluid engine against published arithmetic of a two-box fleet (measured rates at 1 and 2 streams) and
// against a crude integration in small time steps.
#include "engine/rate_engine.hpp"

#include <deque>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;

EngineConfig box(double one, double two) {
  EngineConfig config;
  config.law = RateLaw{{one, two}};
  config.slots = 2;
  return config;
}
EngineConfig thor() { return box(18.18, 50.71); }
EngineConfig spark() { return box(49.24, 87.82); }

/// Only the end matters here.
class LastEnd final : public EngineSink {
 public:
  double seconds = 0;
  void on_event(const EngineEvent& event) override {
    if (event.kind == EngineEvent::Kind::finished) seconds = to_seconds(event.at.time_since_epoch());
  }
};

double wall_s(const EngineConfig& config, const std::vector<std::int64_t>& outputs) {
  auto engine = make(config);
  for (std::size_t i = 0; i < outputs.size(); ++i) submit(*engine, 0, request(i, 1, outputs[i]));
  LastEnd end;
  while (const auto due = engine->next_event()) engine->advance(*due, end);
  return end.seconds;
}

/// wall[n] = seconds for n requests of `tokens` each, submitted at once.
std::vector<double> walls(const EngineConfig& config, std::size_t most, std::int64_t tokens) {
  std::vector<double> out;
  for (std::size_t n = 0; n <= most; ++n) out.push_back(wall_s(config, std::vector(n, tokens)));
  return out;
}

double aggregate(std::size_t thors, std::size_t sparks, std::int64_t tokens, const std::vector<double>& thor_s,
                 const std::vector<double>& spark_s) {
  return static_cast<double>(tokens) * static_cast<double>(thors + sparks) / std::max(thor_s[thors], spark_s[sparks]);
}

TEST(RateEngine, GoesOnAtOtherRatesFromTheMomentTheyAreSet) {
  RateEngine engine(spark());
  for (std::uint64_t id : {0, 1}) (void)engine.submit(Time{}, request(id, 1, 111));
  LastEnd end;
  const Time changed = Time(from_seconds(1.0));
  while (engine.next_event() && *engine.next_event() < changed) engine.advance(*engine.next_event(), end);
  engine.set_rates(changed, {49.24 / 4, 87.82 / 4});
  while (const auto due = engine.next_event()) engine.advance(*due, end);
  EXPECT_NEAR(end.seconds, 1 + (222 - 87.82) / (87.82 / 4), 1e-6);
  EXPECT_TRUE(engine.check().has_value());
}

TEST(RateEngine, SplitsOfABurstGiveThePublishedAggregates) {
  const auto thor_s = walls(thor(), 8, 111);
  const auto spark_s = walls(spark(), 8, 111);
  struct Row {
    std::size_t thors, sparks;
    double tokens_per_s;
  };
  for (const auto& row :
       {Row{4, 0, 50.71}, Row{3, 1, 42.35}, Row{2, 2, 101.42}, Row{1, 3, 72.72}, Row{0, 4, 87.82}, Row{8, 0, 50.71},
        Row{6, 2, 67.61}, Row{4, 4, 101.42}, Row{3, 5, 84.70}, Row{2, 6, 117.09}, Row{0, 8, 87.82}}) {
    EXPECT_NEAR(aggregate(row.thors, row.sparks, 111, thor_s, spark_s), row.tokens_per_s, 0.006)
        << row.thors << "/" << row.sparks;
  }
}

TEST(RateEngine, TheBestSplitOfEachBurstIsThePublishedOne) {
  const auto thor_s = walls(thor(), 100, 111);
  const auto spark_s = walls(spark(), 162, 111);
  struct Row {
    std::size_t thors, sparks;
    double best;
  };
  for (const auto& row : {Row{2, 2, 101.42}, Row{2, 3, 116.06}, Row{2, 4, 131.73}, Row{2, 5, 106.29}, Row{2, 6, 117.09},
                          Row{4, 8, 131.73}, Row{6, 10, 135.23}, Row{8, 16, 131.73}, Row{24, 40, 135.23},
                          Row{36, 64, 137.22}, Row{46, 82, 137.08}, Row{94, 162, 138.10}}) {
    const std::size_t n = row.thors + row.sparks;
    double best = 0;
    for (std::size_t x = 0; x <= n; ++x) {
      if (x < thor_s.size() && n - x < spark_s.size()) {
        best = std::max(best, aggregate(x, n - x, 111, thor_s, spark_s));
      }
    }
    EXPECT_NEAR(best, row.best, 0.006) << n;
    EXPECT_NEAR(aggregate(row.thors, row.sparks, 111, thor_s, spark_s), row.best, 0.006) << n;
  }
}

TEST(RateEngine, TheSecondMeasuredPairIsMatchedToo) {
  const auto thor_s = walls(box(11.0, 21.5), 2, 155);
  const auto spark_s = walls(box(48.9, 88.1), 8, 155);
  EXPECT_NEAR(aggregate(2, 2, 155, thor_s, spark_s), 43.0, 0.05);
  EXPECT_NEAR(aggregate(2, 6, 155, thor_s, spark_s), 86.0, 0.05);
  EXPECT_NEAR(aggregate(0, 8, 155, thor_s, spark_s), 88.1, 0.05);
  EXPECT_NEAR(aggregate(0, 4, 155, thor_s, spark_s), 88.1, 0.05);
}

/// x0 = 1, x <- (1103515245 x + 12345) mod 2^31, size = 32 + (x >> 16) mod 481.
std::vector<std::int64_t> unequal_sizes() {
  std::vector<std::int64_t> sizes;
  std::uint64_t x = 1;
  for (int i = 0; i < 128; ++i) {
    x = (1103515245 * x + 12345) % (std::uint64_t{1} << 31);
    sizes.push_back(static_cast<std::int64_t>(32 + (x >> 16) % 481));
  }
  return sizes;
}

/// A free slot anywhere takes the head of one common queue, the faster box first. Tokens per second.
double late_binding(std::deque<std::int64_t> queue) {
  const std::array<std::unique_ptr<EngineModel>, 2> boxes = {make(spark()), make(thor())};
  double tokens = 0;
  for (const auto size : queue) tokens += static_cast<double>(size);
  LastEnd end;
  Time now{};
  RequestId id = 0;
  while (true) {
    for (const auto& each : boxes) {
      for (auto books = each->books(0); books.running + books.waiting < 2 && !queue.empty(); books = each->books(0)) {
        EXPECT_EQ(each->submit(now, request(++id, 1, queue.front())), SubmitOutcome::accepted);
        queue.pop_front();
      }
    }
    std::optional<Time> next;
    for (const auto& each : boxes) {
      if (const auto due = each->next_event(); due && (!next || *due < *next)) next = due;
    }
    if (!next) return tokens / end.seconds;
    now = *next;
    for (const auto& each : boxes) each->advance(now, end);
  }
}

TEST(RateEngine, ADriverThatBindsLateReachesThePublishedFigures) {
  const std::map<std::size_t, double> published = {{4, 101.42},  {5, 116.06},   {6, 131.73},   {7, 74.12},
                                                   {8, 101.42},  {12, 131.73},  {16, 135.23},  {24, 121.70},
                                                   {64, 135.23}, {100, 137.22}, {128, 135.23}, {256, 138.10}};
  for (const auto& [n, tokens_per_s] : published) {
    EXPECT_NEAR(late_binding(std::deque<std::int64_t>(n, 111)), tokens_per_s, 0.006) << n;
  }
}

TEST(RateEngine, UnequalSizesGiveThePublishedFigures) {
  const auto sizes = unequal_sizes();
  std::int64_t total = 0;
  std::vector<std::int64_t> even;
  std::vector<std::int64_t> odd;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    total += sizes[i];
    (i % 2 == 0 ? even : odd).push_back(sizes[i]);
  }
  ASSERT_EQ(total, 33139);
  EXPECT_NEAR(late_binding({sizes.begin(), sizes.end()}), 137.69, 0.006);
  const double wall = std::max(wall_s(thor(), even), wall_s(spark(), odd));
  EXPECT_NEAR(static_cast<double>(total) / wall, 94.91, 0.006);
}

TEST(RateEngine, BeyondTheTableTheLastEntryHolds) {
  EngineConfig config;
  config.law = RateLaw{{10, 30}};
  config.slots = 6;
  EXPECT_NEAR(wall_s(config, std::vector<std::int64_t>(6, 50)), 6 * 50 / 30.0, 1e-6);
}

struct Arrival {
  double at_s;
  std::int64_t output;
};

/// Progress added in steps of dt; starts and ends take effect at the next step, so each is at most dt late.
std::vector<double> integrate(const std::vector<double>& table, std::size_t slots, const std::vector<Arrival>& arrivals,
                              double dt) {
  std::vector<double> ends(arrivals.size(), 0);
  std::vector<double> progress(arrivals.size(), 0);
  std::vector<std::size_t> running;
  std::size_t next = 0;
  std::size_t done = 0;
  for (std::int64_t i = 0; done < arrivals.size(); ++i) {
    const double now = static_cast<double>(i) * dt;
    while (next < arrivals.size() && arrivals[next].at_s <= now && running.size() < slots) running.push_back(next++);
    if (running.empty()) continue;
    const double each = table[std::min(running.size(), table.size()) - 1] / static_cast<double>(running.size());
    for (const auto job : running) progress[job] += each * dt;
    std::erase_if(running, [&](std::size_t job) {
      if (progress[job] < static_cast<double>(arrivals[job].output)) return false;
      ends[job] = now + dt;
      ++done;
      return true;
    });
  }
  return ends;
}

TEST(RateEngine, AgreesWithACrudeIntegrationInSmallTimeSteps) {
  Random random(11);
  for (int round = 0; round < 8; ++round) {
    const std::vector<double> table = {20 + 10 * random.unit(), 45 + 10 * random.unit(), 70 + 20 * random.unit()};
    const std::size_t slots = 1 + random.below(5);
    std::vector<Arrival> arrivals;
    double at = 0;
    for (int i = 0; i < 30; ++i) {
      at += random.exponential(0.8);
      arrivals.push_back({at, static_cast<std::int64_t>(1 + random.below(80))});
    }
    EngineConfig config;
    config.law = RateLaw{table};
    config.slots = static_cast<std::int64_t>(slots);
    auto engine = make(config);
    Recorder seen;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      const Time when = Time(from_seconds(arrivals[i].at_s));
      engine->advance(when, seen);
      ASSERT_EQ(engine->submit(when, request(i, 1, arrivals[i].output)), SubmitOutcome::accepted);
    }
    run_dry(*engine, seen);
    const auto expected = integrate(table, slots, arrivals, 2e-5);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      ASSERT_EQ(static_cast<std::int64_t>(seen.tokens(i).size()), arrivals[i].output);
      ASSERT_NEAR(seen.finished(i).at(0) / 1000, expected[i], 60 * 2e-5) << "round " << round << " request " << i;
    }
  }
}

TEST(RateEngine, TokensAppearWhenTheProgressReachesThem) {
  auto engine = make(box(10, 40));
  Recorder seen;
  submit(*engine, 0, request(1, 5, 3));
  engine->advance(at_ms(150), seen);
  submit(*engine, 150, request(2, 5, 1));
  run_dry(*engine, seen);
  // Alone 10 tokens/s: half of its second token is done when 2 comes; then 20 tokens/s each.
  EXPECT_EQ(seen.tokens(1), (std::vector<double>{100, 175, 250}));
  EXPECT_EQ(seen.tokens(2), (std::vector<double>{200}));  // and 1 goes on alone from half its third
}

TEST(RateEngine, AbortFreesTheSlotAndTheOthersSpeedChangesAtOnce) {
  auto engine = make(box(10, 40));
  Recorder seen;
  for (RequestId id = 1; id <= 3; ++id) submit(*engine, 0, request(id, 5, 2));
  engine->advance(at_ms(25), seen);
  EXPECT_TRUE(engine->abort(at_ms(25), 3));
  EXPECT_TRUE(engine->abort(at_ms(25), 2));
  EXPECT_FALSE(engine->abort(at_ms(25), 2));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.tokens(1), (std::vector<double>{75, 175}));  // half a token by 25 ms, the rest at 10 a second
  EXPECT_TRUE(seen.tokens(2).empty());
  EXPECT_EQ(engine->gauges(0).finished_by(FinishReason::abort), 2);
  EXPECT_EQ(engine->gauges(0).running, 0);
  EXPECT_EQ(engine->gauges(0).prompt_tokens, Tokens(5));
}

}  // namespace
}  // namespace evenkeel::engine
