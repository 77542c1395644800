#include "workload/prompt_maker.hpp"

#include <array>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace evenkeel::workload {
namespace {

TraceRequest request_of(std::int64_t tokens, PrefixList prefix = no_prefix, std::uint32_t block_size = 0) {
  TraceRequest request;
  request.prompt_tokens = Tokens(tokens);
  request.prefix = prefix;
  request.prefix_block_size = block_size;
  return request;
}

/// Words as the rule counts them; any blank at an end or doubled gives an empty word and fails.
std::size_t words(const std::string& text) {
  if (text.empty()) return 0;
  std::size_t count = 0;
  for (const auto word : split(text, ' ')) {
    EXPECT_FALSE(word.empty());
    for (const char c : word) EXPECT_TRUE(c >= 'a' && c <= 'z');
    ++count;
  }
  return count;
}

std::string first_words(const std::string& text, std::size_t count) {
  std::size_t end = 0;
  for (; count > 0 && end != std::string::npos; --count) end = text.find(' ', end + 1);
  return text.substr(0, end);
}

TEST(PromptMaker, TextHasExactlyAsManyWordsAsTokens) {
  Trace trace;
  const std::array<std::uint64_t, 3> ids = {7, 8, 9};
  const auto list = trace.prefixes.add(ids);
  for (const std::int64_t tokens : {0, 1, 2, 15, 16, 17, 47, 48, 49, 1000, 100'000}) {
    trace.requests = {request_of(tokens), request_of(tokens, list, 16)};
    EXPECT_EQ(words(PromptMaker(1).text(trace, 0)), static_cast<std::size_t>(tokens));
    EXPECT_EQ(words(PromptMaker(1).text(trace, 1)), static_cast<std::size_t>(tokens));
  }
}

TEST(PromptMaker, EqualLeadingIdsGiveEqualLeadingTextAndNoMore) {
  Trace trace;
  const auto a = trace.prefixes.add(std::array<std::uint64_t, 4>{0, 1, 2, 3});
  const auto b = trace.prefixes.add(std::array<std::uint64_t, 3>{0, 1, 9});
  const auto c = trace.prefixes.add(std::array<std::uint64_t, 2>{5, 1});
  trace.requests = {request_of(64, a, 16), request_of(60, b, 16), request_of(40, c, 16), request_of(64, a, 32)};
  const PromptMaker maker(42);
  const auto text_a = maker.text(trace, 0);
  const auto text_b = maker.text(trace, 1);
  EXPECT_EQ(first_words(text_a, 32), first_words(text_b, 32));
  EXPECT_NE(first_words(text_a, 33), first_words(text_b, 33));
  EXPECT_NE(first_words(text_a, 1), first_words(maker.text(trace, 2), 1));
  EXPECT_NE(first_words(text_a, 2), first_words(maker.text(trace, 3), 2)) << "another block size, other blocks";
}

TEST(PromptMaker, SeedAndPlaceDecideTheRest) {
  Trace trace;
  for (int i = 0; i < 500; ++i) trace.requests.push_back(request_of(12));
  std::unordered_set<std::string> texts;
  for (RequestIndex i = 0; i < 500; ++i) texts.insert(PromptMaker(3).text(trace, i));
  EXPECT_EQ(texts.size(), 500U);
  EXPECT_EQ(PromptMaker(3).text(trace, 17), PromptMaker(3).text(trace, 17));
  EXPECT_NE(PromptMaker(3).text(trace, 17), PromptMaker(4).text(trace, 17));
}

}  // namespace
}  // namespace evenkeel::workload
