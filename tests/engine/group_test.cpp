#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/presets.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;
using Times = std::vector<double>;

// arXiv 2601.17855: request i is active in steps x_i .. x_i + O_i - 1 and holds S_i + k - x_i tokens in step
// k; the step lasts t_fixed + t_token * max over workers of the sum. Everybody starts in step 1 here, so
// the whole run follows from prompts and outputs alone.
TEST(Group, AStepLastsAsLongAsTheHeaviestRankAsThePapersModelSays) {
  constexpr std::size_t ranks = 4;
  auto config = preset("paper").value();
  config.ranks = ranks;
  config.pause_check_steps = 1;
  auto engine = make(config);
  struct Load {
    std::size_t rank;
    std::int64_t prompt;
    std::int64_t output;
  };
  Random random(7);
  std::vector<Load> loads;
  for (RequestId id = 0; id < 120; ++id) {
    loads.push_back({id < 2 ? id : static_cast<std::size_t>(random.below(ranks)),
                     static_cast<std::int64_t>(1 + random.below(9000)),
                     static_cast<std::int64_t>(1 + random.below(400))});
    submit(*engine, 0, request(id, loads.back().prompt, loads.back().output, loads.back().rank));
  }
  Recorder seen;
  run_dry(*engine, seen);

  std::int64_t last_step = 0;
  for (const auto& load : loads) last_step = std::max(last_step, load.output);
  ASSERT_EQ(static_cast<std::int64_t>(seen.steps.size()), last_step);
  double clock_ms = 0;
  for (std::int64_t k = 1; k <= last_step; ++k) {
    std::array<std::int64_t, ranks> held{};
    for (const auto& load : loads) {
      if (k <= load.output) held[load.rank] += load.prompt + k - 1;
    }
    const auto& step = seen.steps[static_cast<std::size_t>(k - 1)];
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      ASSERT_EQ(step.ranks[rank].kv_tokens.value(), held[rank]) << "step " << k << " rank " << rank;
    }
    clock_ms += 70 + 2e-4 * static_cast<double>(*std::ranges::max_element(held));
    ASSERT_NEAR(ms_of(step.end), clock_ms, 1e-6 * static_cast<double>(k));
  }
  for (RequestId id = 0; id < loads.size(); ++id) {
    ASSERT_EQ(static_cast<std::int64_t>(seen.tokens(id).size()), loads[id].output);
  }
}

EngineConfig pair() {
  EngineConfig config;
  config.law = StepLaw{.fixed_ms = 10, .token_ms = 1};
  config.slots = 8;
  config.step_token_budget = 64;
  config.kv_capacity = Tokens(1024);
  config.ranks = 2;
  config.pause_check_steps = 4;
  return config;
}

TEST(Group, APrefillOnOneRankHoldsUpTheDecodesOfTheOther) {
  auto engine = make(pair());
  Recorder seen;
  submit(*engine, 0, request(1, 1, 3, 0));
  submit(*engine, 0, request(2, 40, 1, 1));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.tokens(1), (Times{50, 61, 72}));
  EXPECT_EQ(seen.tokens(2), (Times{50}));
  EXPECT_EQ(seen.steps.front().ranks[0].alone, from_millis(11));
  EXPECT_EQ(seen.steps.front().ranks[1].alone, from_millis(50));
}

TEST(Group, ItKeepsSteppingEmptyUntilTheNextPauseCheckAndANewRequestSitsThatOut) {
  auto engine = make(pair());
  Recorder seen;
  submit(*engine, 0, request(1, 1, 1, 0));
  engine->advance(at_ms(15), seen);  // step 1 ends at 11, an empty one lasts from there to 21
  submit(*engine, 15, request(2, 5, 1, 1));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.started(2), (Times{21}));
  EXPECT_EQ(seen.finished(2), (Times{36}));
  ASSERT_EQ(seen.steps.size(), 4U);  // the check after the fourth finds nobody at work
  EXPECT_EQ(ms_of(seen.steps.back().end), 46);

  submit(*engine, 100, request(3, 1, 1, 0));  // paused: starts at once
  run_dry(*engine, seen);
  EXPECT_EQ(seen.started(3), (Times{100}));
  EXPECT_EQ(seen.steps.size(), 8U);
}

TEST(Group, ASlowRankSetsThePaceEvenWithoutWork) {
  auto config = pair();
  config.rank_speeds = {1.0, 0.25};
  config.pause_check_steps = 1;
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 5, 2, 0));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.tokens(1), (Times{40, 80}));  // 10 / 0.25 against 15 and 11
}

TEST(Group, RanksKeepTheirOwnSlotsBlocksAndGauges) {
  auto config = pair();
  config.slots = 1;
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 16, 4, 0));
  submit(*engine, 0, request(2, 16, 4, 0));
  submit(*engine, 0, request(3, 32, 4, 1));
  EXPECT_EQ(engine->submit(at_ms(0), request(3, 1, 1, 0)), SubmitOutcome::duplicate_id);
  EXPECT_EQ(engine->submit(at_ms(0), request(4, 1, 1, 2)), SubmitOutcome::no_such_rank);
  engine->advance(at_ms(0), seen);
  engine->advance(at_ms(42), seen);
  EXPECT_EQ(engine->gauges(0).running, 1);
  EXPECT_EQ(engine->gauges(0).waiting, 1);
  EXPECT_DOUBLE_EQ(engine->gauges(0).kv_usage, 1.0 / 64);
  EXPECT_EQ(engine->gauges(1).running, 1);
  EXPECT_EQ(engine->gauges(1).waiting, 0);
  EXPECT_DOUBLE_EQ(engine->gauges(1).kv_usage, 2.0 / 64);
  EXPECT_TRUE(engine->abort(at_ms(42), 3));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.finished(2).size(), 1U);
}

}  // namespace
}  // namespace evenkeel::engine
