#include "load/answer.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::load {
namespace {

using namespace std::chrono_literals;

struct Reading {
  Ending ending = Ending::completed;
  AnswerFacts facts;
  std::uint64_t gaps = 0;
};

/// Feeds `text` in pieces of `piece` bytes, one a millisecond.
Reading read(std::string_view text, std::size_t piece, bool broken = false) {
  JsonScratch scratch;
  maths::Histogram gaps(0.005, 1e-3, 1e8);
  StreamedAnswer answer(scratch, gaps);
  Duration now{};
  for (std::size_t at = 0; at < text.size(); at += piece) {
    now += 1ms;
    if (!answer.feed(text.substr(at, piece), now)) break;
  }
  const Ending ending = answer.end(broken, now);
  return {ending, answer.facts(), gaps.count()};
}

std::string chat(std::string_view delta) {
  return R"(data: {"id":"c","choices":[{"index":0,"delta":)" + std::string(delta) + "}]}\n\n";
}

const std::string role = chat(R"({"role":"assistant","content":""})");
const std::string word = chat(R"({"content":" w\u00e9\u0021"})");
const std::string usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}\n\n";
const std::string end_mark = "data: [DONE]\n\n";

TEST(StreamedAnswer, CountsEventsWithContentHoweverTheyAreCut) {
  const std::string text = role + ": ping\n\n" + word + "data:" + word.substr(6) +
                           chat(R"({"reasoning_content":"hm"})") + chat(R"({"tool_calls":[{"index":0}]})") +
                           chat("{}") + usage + end_mark;
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const auto got = read(text, piece);
    ASSERT_EQ(got.ending, Ending::completed) << piece;
    ASSERT_EQ(got.facts.content_events, 4) << piece;
    ASSERT_EQ(got.gaps, 3U) << piece;
    ASSERT_EQ(got.facts.usage_output, 7) << piece;
    ASSERT_EQ(got.facts.usage_prompt, 11) << piece;
  }
}

TEST(StreamedAnswer, TakesCarriageReturnsAndCompletions) {
  const std::string text =
      "data: {\"choices\":[{\"text\":\"a\"}],\"usage\":null}\r\n\r\ndata: "
      "{\"choices\":[{\"text\":\"\"}]}\r\n\r\ndata: [DONE]\r\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const auto got = read(text, piece);
    ASSERT_EQ(got.ending, Ending::completed) << piece;
    ASSERT_EQ(got.facts.content_events, 1) << piece;
    ASSERT_EQ(got.facts.usage_output, std::nullopt) << piece;
  }
}

TEST(StreamedAnswer, TheFirstTokenIsNotTheRole) {
  JsonScratch scratch;
  maths::Histogram gaps;
  StreamedAnswer answer(scratch, gaps);
  EXPECT_TRUE(answer.feed(role, 10ms));
  EXPECT_FALSE(answer.facts().first_content.has_value());
  EXPECT_TRUE(answer.feed(word, 25ms));
  EXPECT_TRUE(answer.feed(word + word, 65ms));
  EXPECT_TRUE(answer.feed(usage, 90ms));
  EXPECT_EQ(answer.facts().first_content, Duration(25ms));
  EXPECT_EQ(answer.facts().last_content, Duration(65ms));
  EXPECT_FALSE(answer.feed(end_mark, 95ms));
  EXPECT_EQ(gaps.count(), 2U);
  EXPECT_DOUBLE_EQ(gaps.max(), 40);
  EXPECT_DOUBLE_EQ(gaps.min(), 0);  // two events of one read
}

TEST(StreamedAnswer, ALastEventMayLackItsBlankLine) {
  EXPECT_EQ(read(word + "data: [DONE]", 1000).ending, Ending::completed);
  EXPECT_EQ(read(word + "data: [DONE]", 1000, true).ending, Ending::truncated);
}

TEST(StreamedAnswer, WithoutItsTrueEndItIsTruncated) {
  const auto got = read(role + word, 1000);
  EXPECT_EQ(got.ending, Ending::truncated);
  EXPECT_EQ(got.facts.content_events, 1);
  EXPECT_EQ(read("", 1).ending, Ending::truncated);
}

TEST(StreamedAnswer, ABreakBehindTheTrueEndDoesNotMatter) {
  EXPECT_EQ(read(word + end_mark, 1000, true).ending, Ending::completed);
}

TEST(StreamedAnswer, AnErrorEventFailsItThoughDoneFollows) {
  for (const std::string error : {R"(data: {"error":{"message":"out of blocks","code":500}})",
                                  R"(data: {"error":"out of blocks","error_type":"overloaded"})",
                                  R"(data: {"object":"error","message":"out of blocks"})",
                                  "event: error\ndata: {\"object\":\"error\",\"message\":\"out of blocks\"}"}) {
    const auto got = read(word + error + "\n\n" + end_mark, 1000);
    EXPECT_EQ(got.ending, Ending::error_event) << error;
    EXPECT_EQ(got.facts.trouble, "out of blocks") << error;
  }
  EXPECT_EQ(read(R"(data: {"error":null,"choices":[]})"
                 "\n\n" +
                     end_mark,
                 1000)
                .ending,
            Ending::completed);
}

TEST(StreamedAnswer, AnEventThatIsNoJsonIsMalformed) {
  EXPECT_EQ(read("data: {\"choices\":[\n\n" + end_mark, 1000).ending, Ending::malformed);
  EXPECT_EQ(read("data: 17\n\n" + end_mark, 1000).ending, Ending::malformed);
}

TEST(StreamedAnswer, AnEventWithoutEndIsNotKeptForEver) {
  const auto got = read("data: " + std::string(3U << 20U, 'x'), 65536);
  EXPECT_EQ(got.ending, Ending::malformed);
  EXPECT_NE(got.facts.trouble.find("1 MiB"), std::string::npos);
}

TEST(PlainAnswer, TellsUsageErrorsAndGarbageApart) {
  JsonScratch scratch;
  AnswerFacts facts;
  EXPECT_EQ(read_plain_answer(
                scratch, R"({"choices":[{"message":{}}],"usage":{"prompt_tokens":3,"completion_tokens":9}})", facts),
            Ending::completed);
  EXPECT_EQ(facts.usage_output, 9);
  EXPECT_EQ(facts.usage_prompt, 3);
  EXPECT_EQ(read_plain_answer(scratch, R"({"error":{"message":"no"}})", facts), Ending::error_event);
  EXPECT_EQ(read_plain_answer(scratch, R"({"detail":1})", facts), Ending::malformed);
  EXPECT_EQ(read_plain_answer(scratch, "<html>", facts), Ending::malformed);
}

TEST(ErrorWords, ComeFromAnyShapeAndAreShort) {
  JsonScratch scratch;
  EXPECT_EQ(error_words(scratch, R"({"error":{"message":"full"}})"), "full");
  EXPECT_EQ(error_words(scratch, R"({"object":"error","message":"full"})"), "full");
  EXPECT_EQ(error_words(scratch, " bad gateway\n"), "bad gateway");
  EXPECT_EQ(error_words(scratch, std::string(5000, 'x')).size(), 200U);
}

}  // namespace
}  // namespace evenkeel::load
