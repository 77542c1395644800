#include "emulator/plan.hpp"

#include <gtest/gtest.h>

namespace evenkeel::emulator {
namespace {

struct Planner {
  std::function<std::int64_t(Random&)> draw = [](Random& random) {
    return 10 + static_cast<std::int64_t>(random.below(1000));
  };
  std::int64_t model_length = 5000;
  std::uint64_t seed = 1;

  [[nodiscard]] tl::expected<std::vector<Sequence>, ApiError> operator()(std::string_view body, Endpoint endpoint,
                                                                         std::optional<std::int64_t> told = {}) const {
    return plan(*parse_generation(endpoint, body, "m"), told, {model_length, seed, &draw});
  }
};

using engine::FinishReason;

TEST(Plan, TheSameRequestHasTheSameFateUnderTheSameSeedOnly) {
  Planner planner;
  const auto body = R"({"prompt":"the quick brown fox","max_tokens":2000})";
  const auto first = planner(body, Endpoint::completions)->at(0);
  EXPECT_EQ(planner(body, Endpoint::completions)->at(0).key, first.key);
  EXPECT_EQ(planner(body, Endpoint::completions)->at(0).output_tokens, first.output_tokens);
  // A field that changes nothing changes nothing.
  EXPECT_EQ(
      planner(R"({"prompt":"the quick brown fox","max_tokens":2000,"stream":true,"user":"u"})", Endpoint::completions)
          ->at(0)
          .key,
      first.key);
  EXPECT_NE(planner(R"({"prompt":"the quick brown fix","max_tokens":2000})", Endpoint::completions)->at(0).key,
            first.key);
  EXPECT_NE(planner(R"({"prompt":"the quick brown fox","max_tokens":2000,"seed":5})", Endpoint::completions)->at(0).key,
            first.key);
  planner.seed = 2;
  EXPECT_NE(planner(body, Endpoint::completions)->at(0).key, first.key);
}

TEST(Plan, ABoundCutsADrawnLengthAndSaysSo) {
  const Planner planner;  // draws at least 10
  const auto cut = planner(R"({"prompt":"a","max_tokens":9})", Endpoint::completions)->at(0);
  EXPECT_EQ(cut.output_tokens, 9);
  EXPECT_EQ(cut.reason, FinishReason::length);
  const auto whole = planner(R"({"prompt":"a","max_tokens":1010})", Endpoint::completions)->at(0);
  EXPECT_GE(whole.output_tokens, 10);
  EXPECT_EQ(whole.reason, FinishReason::stop);
}

TEST(Plan, WithoutABoundCompletionsGetSixteenAndChatTheContext) {
  Planner planner;
  planner.draw = [](Random&) { return 1'000'000; };
  EXPECT_EQ(planner(R"({"prompt":"a b"})", Endpoint::completions)->at(0).output_tokens, 16);
  const auto chat = planner(R"({"messages":[{"role":"user","content":"a b"}]})", Endpoint::chat)->at(0);
  EXPECT_EQ(chat.output_tokens, 4998);
  EXPECT_EQ(chat.reason, FinishReason::length);
  planner.model_length = 10;
  EXPECT_EQ(planner(R"({"prompt":"a b"})", Endpoint::completions)->at(0).output_tokens, 8);
}

TEST(Plan, AToldLengthIsExactUnlessTheBoundIsShorter) {
  const Planner planner;
  const auto chat = R"({"messages":[{"role":"user","content":"a"}],"max_tokens":100,"min_tokens":50})";
  const auto exact = planner(chat, Endpoint::chat, 7)->at(0);
  EXPECT_EQ(exact.output_tokens, 7);
  EXPECT_EQ(exact.reason, FinishReason::stop);
  EXPECT_EQ(planner(chat, Endpoint::chat, 100)->at(0).reason, FinishReason::stop);
  const auto cut = planner(chat, Endpoint::chat, 101)->at(0);
  EXPECT_EQ(cut.output_tokens, 100);
  EXPECT_EQ(cut.reason, FinishReason::length);
}

TEST(Plan, LoadGeneratorsGetTheLengthTheyForce) {
  const Planner planner;
  const auto forced = planner(R"({"prompt":"a","max_tokens":777,"ignore_eos":true})", Endpoint::completions)->at(0);
  EXPECT_EQ(forced.output_tokens, 777);
  EXPECT_EQ(forced.reason, FinishReason::length);
  EXPECT_GE(
      planner(R"({"prompt":"a","max_tokens":4000,"min_tokens":3000})", Endpoint::completions)->at(0).output_tokens,
      3000);
}

TEST(Plan, EveryPromptHasNAnswersOfItsOwn) {
  const Planner planner;
  const auto all = planner(R"({"prompt":["a b","c"],"n":2,"max_tokens":3})", Endpoint::completions);
  ASSERT_EQ(all->size(), 4U);
  EXPECT_EQ((*all)[1].prompt, 0U);
  EXPECT_EQ((*all)[1].prompt_tokens, 2);
  EXPECT_EQ((*all)[2].prompt, 1U);
  EXPECT_NE((*all)[0].key, (*all)[1].key);
}

TEST(Plan, WhatDoesNotFitTheContextIsRefused) {
  Planner planner;
  planner.model_length = 4;
  for (const auto* body : {R"({"prompt":"a b c d"})", R"({"prompt":"a b","max_tokens":3})"}) {
    const auto refused = planner(body, Endpoint::completions);
    ASSERT_FALSE(refused.has_value()) << body;
    EXPECT_EQ(refused.error().status, 400);
    EXPECT_EQ(refused.error().param, "input_tokens");
    EXPECT_NE(refused.error().message.find("maximum context length is 4 tokens"), std::string::npos);
  }
  EXPECT_TRUE(planner(R"({"prompt":"a b","max_tokens":2})", Endpoint::completions).has_value());
}

TEST(ToldLength, IsAWholeNumberFromOne) {
  EXPECT_EQ(parse_told_length(" 12 ").value(), 12);
  for (const std::string_view wrong : {"", "0", "-1", "1.5", "x", "99999999999999999999"}) {
    EXPECT_EQ(parse_told_length(wrong).error().status, 400) << wrong;
  }
}

}  // namespace
}  // namespace evenkeel::emulator
