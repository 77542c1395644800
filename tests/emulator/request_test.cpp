#include "emulator/request.hpp"

#include <gtest/gtest.h>

namespace evenkeel::emulator {
namespace {

GenerationRequest good(Endpoint endpoint, std::string_view body) {
  auto parsed = parse_generation(endpoint, body, "m");
  EXPECT_TRUE(parsed.has_value()) << body << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : GenerationRequest{};
}

ApiError bad(Endpoint endpoint, std::string_view body) {
  const auto parsed = parse_generation(endpoint, body, "m");
  EXPECT_FALSE(parsed.has_value()) << body;
  return parsed ? ApiError{} : parsed.error();
}

TEST(ChatRequest, CountsTheWordsOfAllMessages) {
  const auto request = good(Endpoint::chat, R"({"model":"m","messages":[{"role":"system","content":"be brief"},
    {"role":"user","content":[{"type":"text","text":"one two three"}]},{"role":"assistant","content":null}]})");
  ASSERT_EQ(request.prompts.size(), 1U);
  EXPECT_EQ(request.prompts[0].tokens, 5);
  EXPECT_FALSE(request.stream);
  EXPECT_FALSE(request.max_tokens.has_value());
}

TEST(ChatRequest, AnImageCountsAConstantAndTellsPromptsApart) {
  const auto of = [](std::string_view url) {
    return good(Endpoint::chat, R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":")" +
                                    std::string(url) + R"("}}]}]})")
        .prompts[0];
  };
  EXPECT_EQ(of("a").tokens, tokens_of_a_part);
  EXPECT_NE(of("a").hash, of("b").hash);
}

TEST(ChatRequest, TheNewerNameOfTheBoundWins) {
  EXPECT_EQ(
      good(Endpoint::chat, R"({"messages":[{"role":"user","content":"x"}],"max_tokens":5,"max_completion_tokens":7})")
          .max_tokens,
      7);
  EXPECT_EQ(good(Endpoint::chat, R"({"messages":[{"role":"user","content":"x"}],"max_tokens":5.0})").max_tokens, 5);
}

TEST(CompletionRequest, TakesPromptsOfEveryShape) {
  EXPECT_EQ(good(Endpoint::completions, R"({"prompt":"a b c"})").prompts.at(0).tokens, 3);
  const auto texts = good(Endpoint::completions, R"({"prompt":["a b","c"]})");
  ASSERT_EQ(texts.prompts.size(), 2U);
  EXPECT_EQ(texts.prompts[0].tokens, 2);
  EXPECT_EQ(good(Endpoint::completions, R"({"prompt":[5,6,7,8]})").prompts.at(0).tokens, 4);
  const auto lists = good(Endpoint::completions, R"({"prompt":[[5,6],[7]],"n":3})");
  ASSERT_EQ(lists.prompts.size(), 2U);
  EXPECT_EQ(lists.prompts[1].tokens, 1);
  EXPECT_EQ(lists.n, 3);
}

TEST(CompletionRequest, GivesBackTokenIdsOnlyWhenAsked) {
  EXPECT_TRUE(good(Endpoint::completions, R"({"prompt":[5,6]})").prompts[0].ids.empty());
  EXPECT_EQ(good(Endpoint::completions, R"({"prompt":[5,6],"return_token_ids":true})").prompts[0].ids,
            (std::vector<std::int64_t>{5, 6}));
}

TEST(AnyRequest, OfAModelGivenTwiceTheLastCounts) {
  EXPECT_TRUE(parse_generation(Endpoint::completions, R"({"model":"x","prompt":"a","model":"m"})", "m").has_value());
  EXPECT_EQ(bad(Endpoint::completions, R"({"model":"m","prompt":"a","model":"x"})").status, 404);
}

TEST(AnyRequest, WithoutAModelMeansTheOneServed) {
  (void)good(Endpoint::completions, R"({"prompt":"a"})");
  (void)good(Endpoint::completions, R"({"prompt":"a","model":null})");
  (void)good(Endpoint::completions, R"({"prompt":"a","model":""})");
}

TEST(AnyRequest, IsRefusedWithTheFieldThatIsWrong) {
  struct Case {
    Endpoint endpoint;
    std::string_view body;
    std::string_view param;
  };
  const Case cases[] = {
      {Endpoint::chat, R"({"messages":[]})", "messages"},
      {Endpoint::chat, R"({"messages":"hello"})", "messages"},
      {Endpoint::chat, R"({"messages":[{"content":"no role"}]})", "messages"},
      {Endpoint::chat, R"({"messages":[{"role":"user","content":5}]})", "messages"},
      {Endpoint::chat, R"({"messages":[{"role":"user","content":"x"}],"stream":"yes"})", "stream"},
      {Endpoint::chat, R"({"messages":[{"role":"user","content":"x"}],"max_tokens":0})", "max_tokens"},
      {Endpoint::chat, R"({"messages":[{"role":"user","content":"x"}],"n":1000000})", "n"},
      {Endpoint::chat, R"({"messages":[{"role":"user","content":"x"}],"stream_options":{}})", "stream_options"},
      {Endpoint::completions, R"({})", "prompt"},
      {Endpoint::completions, R"({"prompt":""})", "prompt"},
      {Endpoint::completions, R"({"prompt":[]})", "prompt"},
      {Endpoint::completions, R"({"prompt":[1,"a"]})", "prompt"},
      {Endpoint::completions, R"({"prompt":[-1]})", "prompt"},
      {Endpoint::completions, R"({"prompt":"a","min_tokens":9,"max_tokens":3})", "min_tokens"},
      {Endpoint::completions, R"({"prompt":"a","echo":true})", "echo"},
      {Endpoint::completions, R"({"prompt":["a","b"],"n":600})", "n"},
      {Endpoint::messages, R"({"messages":[{"role":"user","content":"x"}]})", "max_tokens"},
      {Endpoint::responses, R"({})", "input"},
  };
  for (const Case& each : cases) {
    const ApiError error = bad(each.endpoint, each.body);
    EXPECT_EQ(error.status, 400) << each.body;
    EXPECT_EQ(error.param, each.param) << each.body << ": " << error.message;
  }
}

TEST(AnyRequest, ThatIsNoJsonObjectIsRefused) {
  for (const std::string_view body : {"", "{", "[]", "5", "{\"prompt\":\"\xff\"}", "{\"a\":1}x"}) {
    EXPECT_EQ(bad(Endpoint::completions, body).status, 400) << body;
  }
}

TEST(ResponsesRequest, TakesATextOrItems) {
  EXPECT_EQ(good(Endpoint::responses, R"({"input":"a b c","max_output_tokens":9})").max_tokens, 9);
  EXPECT_EQ(
      good(Endpoint::responses,
           R"({"instructions":"be good","input":[{"role":"user","content":[{"type":"input_text","text":"a b"}]}]})")
          .prompts[0]
          .tokens,
      4);
}

TEST(MessagesRequest, CountsTheSystemTextToo) {
  EXPECT_EQ(
      good(Endpoint::messages, R"({"system":"be good","max_tokens":4,"messages":[{"role":"user","content":"a"}]})")
          .prompts[0]
          .tokens,
      3);
}

}  // namespace
}  // namespace evenkeel::emulator
