// What happens when KV blocks run out, and when a request is given up. Law: 10 ms + 1 ms a token.
#include <gtest/gtest.h>

#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;
using Times = std::vector<double>;
using Counts = std::vector<std::int64_t>;

EngineConfig four_blocks() {
  EngineConfig config;
  config.law = StepLaw{.fixed_ms = 10, .token_ms = 1};
  config.slots = 4;
  config.step_token_budget = 16;
  config.kv_capacity = Tokens(16);
  config.block_size = 4;
  return config;
}

TEST(Preemption, TheLastGivesWayAndIsRecomputedWithWhatItHadGenerated) {
  auto engine = make(four_blocks());
  Recorder seen;
  submit(*engine, 0, request(1, 7, 6));
  submit(*engine, 0, request(2, 7, 6));
  run_dry(*engine, seen);
  // Two blocks each. In the third step request 1 needs its third: 2 is put back, and needs 3 blocks for
  // 7 + 2 tokens, which it gets only when 1 has ended. Then 9 tokens at once, and singles.
  EXPECT_EQ(seen.step_tokens(), (Counts{14, 2, 1, 1, 1, 1, 9, 1, 1, 1}));
  EXPECT_EQ(seen.times(2, EngineEvent::Kind::preempted), (Times{36}));
  EXPECT_EQ(seen.tokens(1), (Times{24, 36, 47, 58, 69, 80}));
  EXPECT_EQ(seen.started(2), (Times{0, 80}));
  EXPECT_EQ(seen.tokens(2), (Times{24, 36, 99, 110, 121, 132}));
  const auto& gauges = engine->gauges(0);
  EXPECT_EQ(gauges.preemptions, 1);
  EXPECT_EQ(gauges.prompt_tokens, Tokens(14));  // a recomputed prompt is not counted again
  EXPECT_EQ(gauges.generation_tokens, Tokens(12));
}

TEST(Preemption, NobodyEntersInAStepThatPreempted) {
  auto config = four_blocks();
  config.step_token_budget = 4;
  config.admit_whole_prompt = false;
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 7, 3));
  submit(*engine, 0, request(2, 7, 1));
  run_dry(*engine, seen);
  // 4 | 3 + 1 | 1 + 3 | then 1 takes the last free block, 2 finds none and, being last, stops itself. Its
  // next chunk would fit into the block it gave up, but it enters one step later, when 1 has ended.
  EXPECT_EQ(seen.times(2, EngineEvent::Kind::preempted), (Times{42}));
  EXPECT_EQ(seen.step_tokens(), (Counts{4, 4, 4, 1, 4, 3}));
  EXPECT_EQ(seen.started(2), (Times{14, 53}));
  EXPECT_EQ(seen.tokens(1), (Times{28, 42, 53}));
  EXPECT_EQ(seen.tokens(2), (Times{80}));
}

TEST(Preemption, ThePreemptedComesBackBeforeThoseWhoWaited) {
  auto engine = make(four_blocks());
  Recorder seen;
  for (RequestId id = 1; id <= 3; ++id) submit(*engine, 0, request(id, 7, 6));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.started(2), (Times{0, 80}));
  EXPECT_GT(seen.started(3).front(), 80);
}

TEST(Preemption, AGivenKvIsLostAndThePromptIsComputedHere) {
  auto config = four_blocks();
  config.law = StepLaw{.fixed_ms = 10, .token_ms = 1, .prompt_kv_given = true};
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 7, 6));
  submit(*engine, 0, request(2, 7, 6));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.step_tokens(), (Counts{2, 2, 1, 1, 1, 1, 9, 1, 1, 1}));
}

TEST(Abort, ARunningRequestLeavesAtOnceAndItsTokenIsThrownAway) {
  auto config = four_blocks();
  config.slots = 1;
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 7, 6));
  submit(*engine, 0, request(2, 3, 1));
  engine->advance(at_ms(20), seen);  // 17: first token of 1; 17 to 28: its second step
  EXPECT_EQ(engine->books(0).used_blocks, 2);
  EXPECT_TRUE(engine->abort(at_ms(20), 1));
  EXPECT_FALSE(engine->abort(at_ms(20), 1));
  EXPECT_EQ(engine->books(0).used_blocks, 0);
  EXPECT_EQ(engine->gauges(0).running, 1);  // the gauges do not know yet
  expect_balanced(*engine);
  submit(*engine, 20, request(1, 2, 1));  // the id is free again, and the old step does not touch it
  run_dry(*engine, seen);
  EXPECT_EQ(seen.tokens(1), (Times{17, 53}));
  EXPECT_EQ(seen.started(2), (Times{28}));
  EXPECT_EQ(seen.finished(2), (Times{41}));
  EXPECT_EQ(engine->gauges(0).finished_by(FinishReason::abort), 1);
  EXPECT_EQ(engine->gauges(0).finished_by(FinishReason::stop), 2);
}

TEST(Abort, AWaitingRequestLeavesAndAnUnknownOneIsNoNews) {
  auto config = four_blocks();
  config.slots = 1;
  auto engine = make(config);
  Recorder seen;
  for (RequestId id = 1; id <= 3; ++id) submit(*engine, 0, request(id, 2, 1));
  EXPECT_TRUE(engine->abort(at_ms(0), 2));
  EXPECT_FALSE(engine->abort(at_ms(0), 9));
  run_dry(*engine, seen);
  EXPECT_TRUE(seen.started(2).empty());
  EXPECT_EQ(seen.started(3), (Times{12}));
}

TEST(Abort, TheOnlyRequestGoneBeforeItsStepLeavesAnIdleEngine) {
  auto engine = make(four_blocks());
  submit(*engine, 0, request(1, 2, 1));
  EXPECT_TRUE(engine->abort(at_ms(0), 1));
  EXPECT_FALSE(engine->next_event().has_value());
}

}  // namespace
}  // namespace evenkeel::engine
