#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "engine/presets.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;

TEST(EngineConfig, ErrorsNameTheFieldAndWhatIsAllowed) {
  struct Case {
    std::string field;
    std::string allowed;
    std::function<void(EngineConfig&)> spoil;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Case> cases = {
      {"slots", "1 to 65536", [](auto& c) { c.slots = 0; }},
      {"step_token_budget", "256 to", [](auto& c) { c.step_token_budget = 255; }},
      {"kv_capacity", "16 to", [](auto& c) { c.kv_capacity = Tokens(15); }},
      {"block_size", "1 to 4096", [](auto& c) { c.block_size = 0; }},
      {"max_model_length", "2 to 400000", [](auto& c) { c.max_model_length = Tokens(400'001); }},
      {"max_model_length", "2 to 400000", [](auto& c) { c.max_model_length = Tokens(-1); }},
      {"queue_limit", "1 to", [](auto& c) { c.queue_limit = 0; }},
      {"ranks", "1 to 1024", [](auto& c) { c.ranks = 0; }},
      {"rank_speeds", "each of 2 ranks", [](auto& c) { c.ranks = 2, c.rank_speeds = {1.0}; }},
      {"rank_speeds[1]", "0.001 to",
       [](auto& c) {
         c.ranks = 2, c.rank_speeds = {1.0, 0.0};
       }},
      {"pause_check_steps", "1 to 4096", [](auto& c) { c.pause_check_steps = 0; }},
      {"fixed_ms", "0.001 to", [](auto& c) { c.law = StepLaw{}; }},
      {"token_ms", "0 to 1000", [](auto& c) { c.law = StepLaw{.fixed_ms = 1, .token_ms = -1}; }},
      {"kv_token_ms", "0 to 1", [nan](auto& c) { c.law = StepLaw{.fixed_ms = 1, .kv_token_ms = nan}; }},
      {"prefill_context_ms", "0 to", [](auto& c) { c.law = StepLaw{.fixed_ms = 1, .prefill_context_ms = 1}; }},
      {"rate table entries", "1 to", [](auto& c) { c.law = RateLaw{}; }},
      {"rate table entry 2", "0.001 to",
       [](auto& c) {
         c.law = RateLaw{{5, 0}};
       }},
      {"ranks", "1 is allowed", [](auto& c) { c.law = RateLaw{{5}}, c.ranks = 2; }},
  };
  EXPECT_TRUE(validate(EngineConfig{}).has_value());
  for (const auto& each : cases) {
    EngineConfig config;
    each.spoil(config);
    const auto result = make_engine(config);
    ASSERT_FALSE(result.has_value()) << each.field;
    EXPECT_TRUE(result.error().message.starts_with(each.field + " ")) << result.error().message;
    EXPECT_NE(result.error().message.find(each.allowed), std::string::npos) << result.error().message;
  }
}

TEST(EngineConfig, BlocksAreWholeAndOneIsReserved) {
  EngineConfig config;
  config.kv_capacity = Tokens(1000);
  EXPECT_EQ(config.usable_blocks(), 62);
  EXPECT_EQ(config.total_blocks(), 63);
  EXPECT_EQ(config.model_length(), Tokens(992));
}

TEST(EngineConfig, TheLongestStepIsBounded) {
  EngineConfig config;
  config.law = StepLaw{.fixed_ms = 60'000, .token_ms = 1000, .prefill_context_ms = 0.001};
  config.slots = 1;
  config.step_token_budget = 1 << 20;
  config.kv_capacity = Tokens(std::int64_t{1} << 32);
  config.rank_speeds = {0.001};
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, request(1, 1 << 20, 1));
  run_dry(*engine, seen);
  EXPECT_DOUBLE_EQ(seen.finished(1).at(0), 1e9);
}

TEST(EnginePresets, EachMakesAnEngineWithTheStepTimesItsSourceStates) {
  // Decode of one stream, about 1000 tokens of context: tokens a second as measured or simulated elsewhere.
  struct Range {
    std::string_view name;
    double least, most;
  };
  for (const auto& range : {Range{"8b-h100", 67, 170}, Range{"8b-a100", 40, 106}, Range{"70b-h100-tp8", 33, 85},
                            Range{"70b-a100-tp8", 22, 56}, Range{"8b-q4-orin", 21, 26}, Range{"8b-q4-cpu", 7, 17},
                            Range{"paper", 13, 15}}) {
    auto config = preset(range.name);
    ASSERT_TRUE(config.has_value()) << range.name;
    auto engine = make(*config);
    Recorder seen;
    submit(*engine, 0, request(1, 1000, 101));
    run_dry(*engine, seen);
    const auto times = seen.tokens(1);
    const double rate = 100 * 1000 / (times.back() - times.front());
    EXPECT_GE(rate, range.least) << range.name;
    EXPECT_LE(rate, range.most) << range.name;
  }
  EXPECT_EQ(presets().size(), 7U);
}

TEST(EnginePresets, AnUnknownNameIsAnsweredWithTheNearestAndTheList) {
  const auto wrong = preset("8b-h10");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("did you mean 8b-h100?"), std::string::npos) << wrong.error().message;
  EXPECT_NE(wrong.error().message.find("70b-a100-tp8"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::engine
