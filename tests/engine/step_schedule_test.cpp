// Schedules worked out by hand. The law is 10 ms + 1 ms a token, so times can be read off the comments.
#include <gtest/gtest.h>

#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;
using Times = std::vector<double>;
using Counts = std::vector<std::int64_t>;

EngineConfig small() {
  EngineConfig config;
  config.law = StepLaw{.fixed_ms = 10, .token_ms = 1};
  config.slots = 4;
  config.step_token_budget = 8;
  config.kv_capacity = Tokens(64);
  config.block_size = 4;
  return config;
}

TEST(StepSchedule, ALongPromptIsPrefilledInChunksAndItsFirstTokenComesWithTheLast) {
  auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, request(1, 20, 3));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.step_tokens(), (Counts{8, 8, 4, 1, 1}));
  EXPECT_EQ(seen.tokens(1), (Times{50, 61, 72}));  // 18 + 18 + 14, then 11 each
  EXPECT_EQ(seen.finished(1), (Times{72}));
  int firsts = 0;
  for (const auto& event : seen.events) firsts += event.first ? 1 : 0;
  EXPECT_EQ(firsts, 1);
}

TEST(StepSchedule, DecodesComeFirstAndAPrefillTakesWhatTheBudgetLeaves) {
  auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, request(1, 4, 5));
  engine->advance(at_ms(5), seen);
  submit(*engine, 5, request(2, 10, 1));
  run_dry(*engine, seen);
  // 4 | 1 + 7 | 1 + 3 | 1 | 1
  EXPECT_EQ(seen.step_tokens(), (Counts{4, 8, 4, 1, 1}));
  EXPECT_EQ(seen.tokens(1), (Times{14, 32, 46, 57, 68}));
  EXPECT_EQ(seen.started(2), (Times{14}));
  EXPECT_EQ(seen.tokens(2), (Times{46}));
}

TEST(StepSchedule, TheBudgetStopsAdmissionBeforeTheSlotsDo) {
  auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, request(1, 6, 2));
  submit(*engine, 0, request(2, 6, 2));
  submit(*engine, 0, request(3, 6, 1));
  run_dry(*engine, seen);
  // 6 + 2 | 1 + 4 + 3 | 1 + 3: request 1 ends with the second step
  EXPECT_EQ(seen.step_tokens(), (Counts{8, 8, 4}));
  EXPECT_EQ(seen.started(1), (Times{0}));
  EXPECT_EQ(seen.started(2), (Times{0}));
  EXPECT_EQ(seen.started(3), (Times{18}));
  EXPECT_EQ(seen.finished(1), (Times{36}));
  EXPECT_EQ(seen.finished(2), (Times{50}));
  EXPECT_EQ(seen.finished(3), (Times{50}));
}

TEST(StepSchedule, TheSlotsStopAdmissionBeforeTheBudgetDoes) {
  auto config = small();
  config.slots = 1;
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 2, 2));
  submit(*engine, 0, request(2, 2, 1));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.finished(1), (Times{23}));
  EXPECT_EQ(seen.started(2), (Times{23}));
  EXPECT_EQ(seen.finished(2), (Times{35}));
}

TEST(StepSchedule, TheFirstThatDoesNotFitHoldsBackEverybodyBehindIt) {
  auto config = small();
  config.step_token_budget = 32;
  config.kv_capacity = Tokens(32);  // 8 blocks
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 16, 3));  // 4 blocks, the fifth with its second token
  submit(*engine, 0, request(2, 20, 1));  // 5 blocks: must wait
  submit(*engine, 0, request(3, 4, 1));   // 1 block: would fit
  run_dry(*engine, seen);
  // 16 (26 ms) | 1 (11) | 1 (11), then 20 + 4 together
  EXPECT_EQ(seen.finished(1), (Times{48}));
  EXPECT_EQ(seen.started(2), (Times{48}));
  EXPECT_EQ(seen.started(3), (Times{48}));
  EXPECT_EQ(seen.finished(3), (Times{82}));
}

TEST(StepSchedule, WithoutWholePromptAdmissionTheFirstChunkIsEnough) {
  auto config = small();
  config.kv_capacity = Tokens(32);
  config.admit_whole_prompt = false;
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 16, 8));
  submit(*engine, 0, request(2, 20, 1));
  run_dry(*engine, seen);
  // 8 | 8 | 1 + 7: request 2 enters with 2 blocks where its prompt needs 5 and 3 are free
  EXPECT_EQ(seen.started(2).front(), 36);

  config.admit_whole_prompt = true;
  auto strict = make(config);
  Recorder strictly;
  submit(*strict, 0, request(1, 16, 8));
  submit(*strict, 0, request(2, 20, 1));
  run_dry(*strict, strictly);
  EXPECT_EQ(strictly.started(2), strictly.finished(1));
}

TEST(StepSchedule, WhatArrivesInTheInstantAStepEndsTakesPartInTheNext) {
  auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, request(1, 4, 3));
  engine->advance(at_ms(0), seen);
  engine->advance(at_ms(14), seen);
  EXPECT_EQ(engine->next_event(), at_ms(14));  // the start of the next step
  submit(*engine, 14, request(2, 3, 1));
  engine->advance(at_ms(14), seen);
  EXPECT_EQ(engine->next_event(), at_ms(28));
  submit(*engine, 14, request(3, 3, 1));  // the step has started: too late
  run_dry(*engine, seen);
  EXPECT_EQ(seen.finished(2), (Times{28}));
  EXPECT_EQ(seen.started(3), (Times{28}));
}

TEST(StepSchedule, TheModelLengthCutsTheOutput) {
  auto config = small();
  config.max_model_length = Tokens(16);
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 10, 100));
  submit(*engine, 0, request(2, 10, 6));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.tokens(1).size(), 6U);
  EXPECT_EQ(seen.tokens(2).size(), 6U);
  EXPECT_EQ(engine->gauges(0).finished_by(FinishReason::length), 1);
  EXPECT_EQ(engine->gauges(0).finished_by(FinishReason::stop), 1);
}

TEST(StepSchedule, ImpossibleRequestsAreRefusedWithTheirReason) {
  auto config = small();
  config.queue_limit = 1;
  auto engine = make(config);
  const auto verdict = [&](const EngineRequest& r) { return engine->submit(at_ms(0), r); };
  EXPECT_EQ(verdict(request(1, 0, 1)), SubmitOutcome::empty_prompt);
  EXPECT_EQ(verdict(request(1, 1, 0)), SubmitOutcome::empty_output);
  EXPECT_EQ(verdict(request(1, 64, 1)), SubmitOutcome::prompt_too_long);
  EXPECT_EQ(verdict(request(1, 1, 1, 1)), SubmitOutcome::no_such_rank);
  EXPECT_EQ(verdict(request(1, 63, 1)), SubmitOutcome::accepted);
  EXPECT_EQ(verdict(request(1, 5, 1)), SubmitOutcome::duplicate_id);
  EXPECT_EQ(verdict(request(2, 5, 1)), SubmitOutcome::queue_full);
  Recorder seen;
  run_dry(*engine, seen);
  EXPECT_EQ(seen.finished(1).size(), 1U);
}

TEST(StepSchedule, GaugesShowTheLastStepAndNothingInBetween) {
  auto engine = make(small());
  Recorder seen;
  submit(*engine, 0, request(1, 4, 2));
  engine->advance(at_ms(13), seen);
  EXPECT_EQ(engine->gauges(0).running, 0);
  EXPECT_EQ(engine->books(0).running, 1);
  engine->advance(at_ms(14), seen);
  EXPECT_EQ(engine->gauges(0).running, 1);
  EXPECT_DOUBLE_EQ(engine->gauges(0).kv_usage, 1.0 / 16);
  EXPECT_EQ(engine->gauges(0).prompt_tokens, Tokens(4));
  EXPECT_EQ(engine->gauges(0).generation_tokens, Tokens(1));
  engine->advance(at_ms(15), seen);
  for (RequestId id = 2; id < 12; ++id) submit(*engine, 15, request(id, 8, 1));
  EXPECT_EQ(engine->gauges(0).waiting, 0);
  EXPECT_EQ(engine->books(0).waiting, 10);
  engine->advance(at_ms(25), seen);
  EXPECT_EQ(engine->gauges(0).waiting, 10);
  run_dry(*engine, seen);
  EXPECT_EQ(engine->gauges(0).running, 0);
  EXPECT_EQ(engine->gauges(0).waiting, 0);
  EXPECT_EQ(engine->gauges(0).kv_usage, 0);
  EXPECT_EQ(engine->gauges(0).prompt_tokens, Tokens(84));
  EXPECT_EQ(engine->gauges(0).generation_tokens, Tokens(12));
}

TEST(StepLaw, DecodesPayForTheContextTheyReadAndPrefillChunksForWhatPrecedesThem) {
  auto config = small();
  config.law = StepLaw{.fixed_ms = 1, .kv_token_ms = 1};
  auto decoding = make(config);
  Recorder decodes;
  submit(*decoding, 0, request(1, 3, 3));
  run_dry(*decoding, decodes);
  EXPECT_EQ(decodes.tokens(1), (Times{1, 6, 12}));  // a prefill, then 1 + 4 and 1 + 5

  config.law = StepLaw{.fixed_ms = 1, .prefill_context_ms = 0.001};
  auto prefilling = make(config);
  Recorder prefills;
  submit(*prefilling, 0, request(1, 12, 1));
  run_dry(*prefilling, prefills);
  EXPECT_EQ(prefills.tokens(1), (Times{1 + 0.032 + 1 + 0.040}));  // 8 * (0 + 4), then 4 * (8 + 2)
}

TEST(StepLaw, WithKvGivenTheFirstStepIsADecodeOverThePrompt) {
  auto config = small();
  config.law = StepLaw{.fixed_ms = 1, .token_ms = 0.5, .kv_token_ms = 1, .prompt_kv_given = true};
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 20, 2));
  engine->advance(at_ms(0), seen);
  EXPECT_EQ(engine->books(0).used_blocks, 5);
  run_dry(*engine, seen);
  EXPECT_EQ(seen.tokens(1), (Times{21.5, 44}));  // 1 + 0.5 + 20, then 1 + 0.5 + 21
}

}  // namespace
}  // namespace evenkeel::engine
