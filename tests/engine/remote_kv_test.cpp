// KV that goes to another engine or comes from one.
#include "base/random.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;
using Times = std::vector<double>;

/// 10 ms a step and 1 ms a token computed; ten blocks of 16.
EngineConfig small() {
  EngineConfig config;
  config.law = StepLaw{.fixed_ms = 10, .token_ms = 1, .kv_token_ms = 0};
  config.slots = 4;
  config.kv_capacity = Tokens(160);
  return config;
}

EngineRequest kept(RequestId id, std::int64_t prompt) {
  auto what = request(id, prompt, 1);
  what.keep_kv = true;
  return what;
}

EngineRequest pulled(RequestId id, std::int64_t prompt, std::int64_t output) {
  auto what = request(id, prompt, output);
  what.remote_kv = true;
  return what;
}

TEST(KeptKv, StaysHeldBehindTheEndUntilItIsFreed) {
  const auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, kept(1, 100));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.finished(1), Times{110});
  EXPECT_EQ(engine->books(0).kept_blocks, 7);
  EXPECT_EQ(engine->books(0).used_blocks, 7);
  EXPECT_EQ(engine->books(0).kv_tokens, Tokens(0));
  EXPECT_DOUBLE_EQ(engine->gauges(0).kv_usage, 0.7);
  // What needs more than three blocks must wait, though nothing runs.
  submit(*engine, 200, request(2, 60, 1));
  engine->advance(at_ms(500), seen);
  EXPECT_TRUE(seen.started(2).empty());
  EXPECT_EQ(engine->submit(at_ms(500), request(1, 5, 1)), SubmitOutcome::duplicate_id);
  EXPECT_TRUE(engine->abort(at_ms(500), 1));
  EXPECT_FALSE(engine->abort(at_ms(500), 1));
  expect_balanced(*engine);
  run_dry(*engine, seen);
  EXPECT_EQ(seen.started(2), Times{500});
  EXPECT_EQ(engine->gauges(0).finished_by(FinishReason::abort), 0);
  EXPECT_DOUBLE_EQ(engine->gauges(0).kv_usage, 0);
}

TEST(KeptKv, AnIdleEngineShowsThatItWasFreed) {
  const auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, kept(1, 100));
  run_dry(*engine, seen);
  EXPECT_TRUE(engine->abort(at_ms(900), 1));
  EXPECT_FALSE(engine->next_event().has_value());
  EXPECT_DOUBLE_EQ(engine->gauges(0).kv_usage, 0);
}

TEST(RemoteKv, HoldsItsBlocksWhileItPullsAndThenDecodesAtOnce) {
  const auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, pulled(1, 100, 3));
  engine->advance(at_ms(50), seen);
  EXPECT_EQ(seen.times(1, EngineEvent::Kind::pulling), Times{0});
  EXPECT_EQ(engine->books(0).pulling, 1);
  EXPECT_EQ(engine->books(0).waiting, 1);
  EXPECT_EQ(engine->books(0).running, 0);
  EXPECT_EQ(engine->books(0).used_blocks, 7);
  EXPECT_FALSE(engine->kv_arrived(at_ms(50), 2, true));
  EXPECT_TRUE(engine->kv_arrived(at_ms(50), 1, true));
  EXPECT_FALSE(engine->kv_arrived(at_ms(50), 1, true));
  expect_balanced(*engine);
  run_dry(*engine, seen);
  EXPECT_EQ(seen.tokens(1), (Times{61, 72, 83}));  // each step one token: the prompt's last, then two of the answer
  EXPECT_EQ(seen.steps.at(seen.steps.size() - 3).ranks[0].kv_tokens, Tokens(100));
}

TEST(RemoteKv, IsPrefilledHereIfItDoesNotComeWhole) {
  const auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, pulled(1, 100, 2));
  engine->advance(at_ms(50), seen);
  EXPECT_TRUE(engine->kv_arrived(at_ms(50), 1, false));
  EXPECT_EQ(engine->books(0).used_blocks, 0);
  run_dry(*engine, seen);
  EXPECT_EQ(seen.tokens(1), (Times{160, 171}));
}

TEST(RemoteKv, WaitsForRoomBeforeItPulls) {
  const auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, request(1, 80, 20));
  submit(*engine, 0, pulled(2, 100, 1));
  engine->advance(at_ms(91), seen);
  EXPECT_EQ(engine->books(0).pulling, 0);
  while (seen.times(2, EngineEvent::Kind::pulling).empty()) engine->advance(*engine->next_event(), seen);
  EXPECT_EQ(seen.times(2, EngineEvent::Kind::pulling), seen.finished(1));
}

TEST(RemoteKv, OneThatPullsIsSteppedOverAndCanBeAborted) {
  const auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, pulled(1, 50, 1));
  submit(*engine, 0, request(2, 10, 1));
  EXPECT_EQ((engine->advance(at_ms(0), seen), seen.started(2)), Times{0});
  EXPECT_TRUE(engine->abort(at_ms(5), 1));
  EXPECT_FALSE(engine->kv_arrived(at_ms(5), 1, true));
  run_dry(*engine, seen);
  EXPECT_EQ(engine->books(0).used_blocks, 0);
  EXPECT_EQ(engine->gauges(0).finished_by(FinishReason::abort), 1);
}

// Whatever comes in whatever order: the books close at every event, and nothing is left.
TEST(RemoteKv, TheBooksCloseUnderAnyLoad) {
  Random random(5);
  std::size_t pulls = 0;
  std::int64_t preemptions = 0;
  for (int round = 0; round < 60; ++round) {
    auto config = small();
    config.ranks = 1 + random.below(3);
    config.pause_check_steps = 4;
    config.decode_growth = 1 + static_cast<std::int64_t>(random.below(3));
    config.step_token_budget = 256;
    config.admit_whole_prompt = random.below(2) == 0;
    config.prefix_cache = random.below(2) == 0;
    const auto engine = make(config);
    Recorder seen;
    std::vector<RequestId> keeping;
    for (RequestId id = 0; id < 60; ++id) {
      const double at = 40.0 * static_cast<double>(id);
      engine->advance(at_ms(at), seen);
      auto what = request(id, static_cast<std::int64_t>(1 + random.below(100)),
                          static_cast<std::int64_t>(1 + random.below(50)), random.below(config.ranks));
      what.remote_kv = random.below(2) == 0;
      what.keep_kv = random.below(3) == 0;
      submit(*engine, at, what);
      if (what.keep_kv) keeping.push_back(id);
      const RequestId other = random.below(id + 1);
      if (random.below(2) == 0) (void)engine->kv_arrived(at_ms(at), other, random.below(3) > 0);
      if (random.below(4) == 0) (void)engine->abort(at_ms(at), other);
      expect_balanced(*engine);
    }
    const auto left = [&] {
      std::int64_t sum = 0;
      for (std::size_t rank = 0; rank < config.ranks; ++rank) {
        const auto books = engine->books(rank);
        sum += books.running + books.waiting + books.used_blocks + books.kept_blocks + books.kv_tokens.value();
      }
      return sum;
    };
    for (int turn = 0; turn < 2000 && left() > 0; ++turn) {
      const double at = 2400 + 100.0 * turn;
      engine->advance(at_ms(at), seen);
      for (RequestId id = 0; id < 60; ++id) (void)engine->kv_arrived(at_ms(at), id, true);
      for (const RequestId id : keeping) {
        if (!seen.finished(id).empty()) (void)engine->abort(at_ms(at), id);
      }
      expect_balanced(*engine);
    }
    EXPECT_EQ(left(), 0) << "round " << round;
    for (std::size_t rank = 0; rank < config.ranks; ++rank) preemptions += engine->gauges(rank).preemptions;
    for (const auto& event : seen.events) pulls += event.kind == EngineEvent::Kind::pulling ? 1 : 0;
  }
  EXPECT_GT(pulls, 500U);
  EXPECT_GT(preemptions, 50);
}

}  // namespace
}  // namespace evenkeel::engine
