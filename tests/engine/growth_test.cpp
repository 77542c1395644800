// Speculative growth: 1 to k tokens a step.
#include <map>

#include <gtest/gtest.h>

#include "engine/presets.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;

EngineConfig growing(std::int64_t growth) {
  auto config = preset("paper").value();
  config.decode_growth = growth;
  return config;
}

/// Tokens of each step of each request.
class Counts final : public EngineSink {
 public:
  std::map<RequestId, std::vector<std::int64_t>> counts;
  void on_event(const EngineEvent& event) override {
    if (event.kind == EngineEvent::Kind::tokens) counts[event.id].push_back(event.count.value());
  }
};

TEST(Growth, EachCountIsDrawnEquallyOftenAndTheOutputIsExact) {
  auto engine = make(growing(4));
  for (RequestId id = 1; id <= 60; ++id) submit(*engine, 0, request(id, 50, 500));
  Counts seen;
  run_dry(*engine, seen);
  std::map<std::int64_t, int> often;
  int steps = 0;
  for (const auto& [id, counts] : seen.counts) {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    EXPECT_EQ(sum, 500) << id;
    for (std::size_t i = 0; i + 1 < counts.size(); ++i) ++often[counts[i]], ++steps;  // the last is cut
  }
  ASSERT_EQ(often.size(), 4U);
  for (const auto& [count, times] : often) {
    EXPECT_GE(count, 1);
    EXPECT_LE(count, 4);
    EXPECT_NEAR(static_cast<double>(times) / steps, 0.25, 4 * 0.43 / std::sqrt(steps)) << count;
  }
}

TEST(Growth, ARequestGrowsAlikeInWhateverCompanyByItsKey) {
  auto alone = make(growing(3));
  EngineRequest one = request(7, 100, 300);
  one.key = 99;
  submit(*alone, 0, one);
  Counts by_itself;
  run_dry(*alone, by_itself);

  auto crowded = make(growing(3));
  for (RequestId id = 100; id < 130; ++id) submit(*crowded, 0, request(id, 40, 200));
  one.id = 12;
  submit(*crowded, 0, one);
  Counts in_company;
  run_dry(*crowded, in_company);
  EXPECT_EQ(by_itself.counts[7], in_company.counts[12]);
  EXPECT_NE(in_company.counts[12], in_company.counts[100]);
}

// The KV held is the prompt and all that was generated but the last token, which no step has read yet.
TEST(Growth, KvIsHeldOfEveryToken) {
  auto engine = make(growing(5));
  submit(*engine, 0, request(1, 1000, 400));
  Recorder seen;
  std::int64_t generated = 0;
  while (const auto due = engine->next_event()) {
    engine->advance(*due, seen);
    expect_balanced(*engine);
    generated = engine->gauges(0).generation_tokens.value();
    if (engine->books(0).running == 1 && generated > 0 && *engine->next_event() == *due) {
      ASSERT_EQ(engine->books(0).kv_tokens.value(), 1000 + generated - 1);
    }
  }
  EXPECT_EQ(generated, 400);
  EXPECT_EQ(engine->books(0).kv_tokens, Tokens(0));
}

TEST(Growth, OneTokenAStepIsWhatItWas) {
  const auto run = [](std::int64_t growth) {
    auto config = preset("8b-h100").value();
    config.decode_growth = growth;
    auto engine = make(config);
    for (RequestId id = 1; id <= 20; ++id) submit(*engine, 0, request(id, 100 * static_cast<std::int64_t>(id), 30));
    Recorder seen;
    run_dry(*engine, seen);
    return transcript(seen);
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Growth, BoundsAreChecked) {
  EXPECT_NE(validate(growing(0)).error().message.find("decode_growth is 0: allowed are 1 to 16"), std::string::npos);
  EXPECT_FALSE(validate(growing(17)));
  EngineConfig rates;
  rates.law = RateLaw{{10}};
  rates.decode_growth = 2;
  EXPECT_NE(validate(rates).error().message.find("decode_growth is 2: allowed are 1 to 1"), std::string::npos);
  EngineConfig tight = growing(4);
  tight.slots = 100;
  tight.step_token_budget = 399;
  EXPECT_NE(validate(tight).error().message.find("step_token_budget is 399: allowed are 400"), std::string::npos);
}

/// Takes deliveries as they are, and what is left of the events.
class Whole final : public EngineSink {
 public:
  struct Got {
    Time at;
    Delivery delivery;
  };
  std::vector<Got> got;
  std::vector<EngineEvent> events;
  void on_event(const EngineEvent& event) override { events.push_back(event); }
  void on_deliveries(Time at, std::span<const Delivery> deliveries) override {
    for (const Delivery& each : deliveries) got.push_back({at, each});
  }
};

TEST(Deliveries, SayWhatTheEventsSay) {
  const auto feed = [](EngineSink& sink) {
    auto config = preset("8b-a100").value();
    config.kv_capacity = Tokens(1600);  // some are preempted
    config.slots = 8;
    config.ranks = 2;
    auto engine = make(config);
    for (RequestId id = 1; id <= 30; ++id) {
      submit(*engine, 0,
             request(id, 30 + 7 * static_cast<std::int64_t>(id), 1 + static_cast<std::int64_t>(id * 37 % 90), id % 2));
    }
    run_dry(*engine, sink);
  };
  Recorder by_event;
  feed(by_event);
  Whole whole;
  feed(whole);
  std::vector<EngineEvent> told;
  for (const auto& event : by_event.events) {
    const bool brought = event.kind == EngineEvent::Kind::tokens || event.kind == EngineEvent::Kind::finished;
    if (brought) told.push_back(event);
  }
  std::size_t next = 0;
  for (const auto& [at, delivery] : whole.got) {
    ASSERT_LT(next, told.size());
    EXPECT_EQ(told[next].kind, EngineEvent::Kind::tokens);
    EXPECT_EQ(told[next].at, at);
    EXPECT_EQ(told[next].id, delivery.id);
    EXPECT_EQ(told[next].count.value(), delivery.count);
    EXPECT_EQ(told[next].first, delivery.first);
    ++next;
    if (!delivery.finished) continue;
    ASSERT_LT(next, told.size());
    EXPECT_EQ(told[next].kind, EngineEvent::Kind::finished);
    EXPECT_EQ(told[next].id, delivery.id);
    EXPECT_EQ(told[next].reason, delivery.reason);
    ++next;
  }
  EXPECT_EQ(next, told.size());
  EXPECT_EQ(whole.events.size(), by_event.events.size() - told.size());  // starts and preemptions
  EXPECT_GT(whole.events.size(), 30U);
}

}  // namespace
}  // namespace evenkeel::engine
