// The bytes of every endpoint against transcripts written down from the protocols.
#include "emulator/shape.hpp"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace evenkeel::emulator {
namespace {

std::string transcript(const std::string& name) {
  std::ifstream file(std::string(EVENKEEL_SOURCE_DIR) + "/tests/wire/vllm/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  std::string bytes = text.str();
  if (name.ends_with(".json")) bytes.pop_back();
  return bytes;
}

/// An answer with id r1 whose text keys are 7 and 8.
struct Talk {
  GenerationRequest request;
  std::vector<Sequence> sequences;
  std::unique_ptr<AnswerShape> shape;
  std::string out;

  Talk(Endpoint endpoint, std::string_view body, std::size_t answers, engine::FinishReason reason)
      : request(*parse_generation(endpoint, body, "m")) {
    for (std::size_t i = 0; i < answers; ++i) {
      sequences.push_back({.prompt = 0,
                           .prompt_tokens = request.prompts[0].tokens,
                           .output_tokens = 3,
                           .reason = reason,
                           .key = 7 + i});
    }
    shape = make_shape({std::string(id_prefix(endpoint)) + "r1", 1700000000, "m", request, sequences});
    shape->begin(out);
  }
  void say(std::size_t index, std::int64_t count, bool finished = false) {
    shape->tokens(out, index, count, finished);
    sequences[index].delivered += count;
  }
};

constexpr auto chat_body = R"({"messages":[{"role":"user","content":"a b c d e"}]})";
using engine::FinishReason;

TEST(ChatStream, RoleComesWithTheFirstTokenAndTheFinishOnTheLast) {
  Talk talk(Endpoint::chat, chat_body, 1, FinishReason::stop);
  EXPECT_EQ(talk.out, "");  // nothing before the first token
  talk.say(0, 1);
  talk.say(0, 1);
  talk.say(0, 1, true);
  talk.shape->end(talk.out);
  EXPECT_EQ(talk.out, transcript("chat.sse"));
}

TEST(ChatStream, UsageRidesOnEveryChunkAndOnOneOfItsOwn) {
  Talk talk(Endpoint::chat,
            R"({"messages":[{"role":"user","content":"a b c d e"}],"stream":true,)"
            R"("stream_options":{"include_usage":true,"continuous_usage_stats":true}})",
            1, FinishReason::length);
  talk.say(0, 1);
  talk.say(0, 2, true);  // two tokens of one step
  talk.shape->end(talk.out);
  EXPECT_EQ(talk.out, transcript("chat-usage.sse"));
}

TEST(CompletionStream, TwoAnswersInterleaveUnderTheirIndexWithTokenIds) {
  Talk talk(
      Endpoint::completions,
      R"({"prompt":"sea wind","n":2,"return_token_ids":true,"stream":true,"stream_options":{"include_usage":true}})", 2,
      FinishReason::length);
  talk.say(0, 1);
  talk.say(1, 1, true);
  talk.say(0, 1, true);
  talk.shape->end(talk.out);
  EXPECT_EQ(talk.out, transcript("completions-two-answers.sse"));
}

TEST(AnyOpenAiStream, AnErrorEventIsFollowedByDone) {
  Talk talk(Endpoint::chat, chat_body, 1, FinishReason::stop);
  talk.shape->fail(talk.out, {500, "InternalServerError", "Injected fault.", ""});
  EXPECT_EQ(talk.out, transcript("error-event.sse"));
}

TEST(PlainAnswer, OfChat) {
  Talk talk(Endpoint::chat, chat_body, 1, FinishReason::stop);
  talk.sequences[0].delivered = 3;
  EXPECT_EQ(talk.shape->whole("null"), transcript("chat.json"));
}

TEST(PlainAnswer, OfCompletions) {
  Talk talk(Endpoint::completions, R"({"prompt":"sea wind"})", 1, FinishReason::length);
  talk.sequences[0].delivered = 2;
  EXPECT_EQ(talk.shape->whole("null"), transcript("completions.json"));
}

TEST(ResponsesStream, GoesThroughItsEventsInOrder) {
  Talk talk(Endpoint::responses, R"({"input":"a b c d e"})", 1, FinishReason::stop);
  talk.say(0, 1);
  talk.say(0, 1, true);
  talk.shape->end(talk.out);
  EXPECT_EQ(talk.out, transcript("responses.sse"));
}

TEST(MessagesStream, GoesThroughItsEventsInOrder) {
  Talk talk(Endpoint::messages, R"({"max_tokens":2,"messages":[{"role":"user","content":"a b c d e"}]})", 1,
            FinishReason::length);
  talk.say(0, 1);
  talk.say(0, 1, true);
  talk.shape->end(talk.out);
  EXPECT_EQ(talk.out, transcript("messages.sse"));
}

TEST(ErrorBody, OfAModelThatIsNotServed) {
  const auto refused =
      parse_generation(Endpoint::chat, R"({"model":"gpt-5","messages":[{"role":"user","content":"x"}]})", "m");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(openai_error(refused.error()), transcript("error-unknown-model.json"));
}

}  // namespace
}  // namespace evenkeel::emulator
