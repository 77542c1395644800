// What the router makes of a prompt's beginning, against chains of texts laid out by hand.
#include "gateway/prompt_prefix.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::gateway {
namespace {

constexpr std::size_t all = 1U << 20U;
constexpr std::size_t block = affinity::default_block_bytes;

struct Made {
  bool known = false;
  affinity::PromptChain chain;
};

Made made(const std::string& body, PrefixKey key = {ModelId{1}, 5}, std::size_t most = all,
          std::int64_t tokens = 1000) {
  BodySkim skim(true);
  EXPECT_TRUE(skim.feed(body) && skim.finish()) << skim.complaint();
  Made of;
  of.chain.links = {1, 2, 3};  // of the last request
  of.known = prompt_prefix(skim.facts(), body, key, Tokens(tokens), most, of.chain);
  return of;
}

std::vector<affinity::ChainHash> links(const std::string& body) { return made(body).chain.links; }

std::size_t in_common(const std::vector<affinity::ChainHash>& a, const std::vector<affinity::ChainHash>& b) {
  std::size_t count = 0;
  while (count < a.size() && count < b.size() && a[count] == b[count]) ++count;
  return count;
}

std::string message(const std::string& role, const std::string& text) {
  return R"({"role":")" + role + R"(","content":")" + text + "\"}";
}

TEST(PromptPrefix, TurnsOfAConversationShareAllButTheEnd) {
  const std::string system = message("system", std::string(1000, 's'));
  const std::string first = R"({"model":"m","messages":[)" + system + "," + message("user", std::string(500, 'a'));
  const auto one = links(first + "]}");
  const auto two = links(first + "," + message("assistant", std::string(700, 'b')) + R"(],"stream":true})");
  const std::size_t whole = first.size() - std::string(R"({"model":"m","messages":)").size();
  EXPECT_EQ(one.size(), (whole + 1) / block);
  EXPECT_EQ(in_common(one, two), whole / block);
  const auto other = links(R"({"messages":[)" + system + "," + message("user", "else " + std::string(500, 'x')) + "]}");
  EXPECT_EQ(in_common(one, other), system.size() / block) << "wherever the messages stand in the body";
}

TEST(PromptPrefix, ToolsComeBeforeTheSystemTextAndThatBeforeTheMessages) {
  const std::string tools = R"([{"name":")" + std::string(900, 't') + "\"}]";
  const std::string system = "\"" + std::string(700, 's') + "\"";
  const std::string messages = "[" + message("user", std::string(600, 'u')) + "]";
  std::vector<affinity::ChainHash> expected;
  const std::string laid_out = tools + system + messages;
  const auto chain =
      links(R"({"messages":)" + messages + R"(,"system":)" + system + R"(,"max_tokens":5,"tools":)" + tools + "}");
  EXPECT_EQ(chain, links(R"({"tools":)" + tools + R"(,"instructions":)" + system + R"(,"input":)" + messages + "}"));
  EXPECT_EQ(chain.size(), laid_out.size() / block);
  const auto other = links(R"({"tools":)" + tools + R"(,"messages":[)" + message("user", std::string(800, 'v')) + "]}");
  EXPECT_EQ(in_common(chain, other), tools.size() / block);
}

TEST(PromptPrefix, ModelsSaltsAndProcessesHaveNothingInCommon) {
  const std::string prompt = R"("prompt":")" + std::string(600, 'p') + "\"";
  const auto plain = links("{" + prompt + "}");
  ASSERT_EQ(plain.size(), 2U);
  for (const char* const given : {R"("cache_salt":"a")", R"("cache_salt":"b")", R"("lora_path":"x")"}) {
    const std::string member = given;
    const auto salted = links("{" + member + "," + prompt + "}");
    EXPECT_EQ(salted.size(), 2U);
    EXPECT_EQ(in_common(plain, salted), 0U) << member;
    EXPECT_EQ(salted, links("{" + prompt + "," + member + "}"));
  }
  EXPECT_NE(links("{" + prompt + R"(,"cache_salt":"a"})"), links("{" + prompt + R"(,"cache_salt":"b"})"));
  EXPECT_EQ(in_common(plain, made("{" + prompt + "}", {ModelId{2}, 5}).chain.links), 0U);
  EXPECT_EQ(in_common(plain, made("{" + prompt + "}", {ModelId{1}, 6}).chain.links), 0U);
}

TEST(PromptPrefix, NothingIsExpectedOfAPromptWhoseSaltIsNoText) {
  const std::string prompt = R"("prompt":")" + std::string(600, 'p') + "\"";
  for (const char* const odd : {"5", "true", R"(["q"])", "[null]", R"({"a":[1]})"}) {
    for (const char* const member : {"cache_salt", "extra_key", "lora_path"}) {
      EXPECT_TRUE(links("{\"" + std::string(member) + "\":" + odd + "," + prompt + "}").empty()) << member << odd;
      EXPECT_TRUE(links("{" + prompt + ",\"" + member + "\":" + odd + "}").empty()) << member << odd;
    }
  }
  EXPECT_EQ(links("{" + prompt + R"(,"cache_salt":null})"), links("{" + prompt + "}"));
}

TEST(PromptPrefix, ABlockStandsForItsShareOfTheTokensHoweverMuchIsLookedAt) {
  const std::string body = R"({"prompt":")" + std::string(10'238, 'p') + "\"}";  // 10,240 bytes: 40 blocks
  const Made whole = made(body);
  EXPECT_EQ(whole.chain.links.size(), 40U);
  EXPECT_DOUBLE_EQ(whole.chain.block_tokens, 25);
  const Made beginning = made(body, {ModelId{1}, 5}, 1500);
  EXPECT_DOUBLE_EQ(beginning.chain.block_tokens, 25);
  EXPECT_EQ(beginning.chain.links.size(), 5U);
  EXPECT_EQ(in_common(whole.chain.links, beginning.chain.links), 5U);
}

TEST(PromptPrefix, ThereIsNoneOfSeveralPromptsOrOfLessThanABlock) {
  const std::string text = "\"" + std::string(600, 'p') + "\"";
  for (const std::string& body : {R"({"prompt":[)" + text + "," + text + "]}", std::string(R"({"prompt":"short"})"),
                                  R"({"tools":)" + text + "}", std::string("{}")}) {
    const Made none = made(body);
    EXPECT_FALSE(none.known) << body;
    EXPECT_TRUE(none.chain.links.empty()) << body;
  }
  EXPECT_TRUE(made(R"({"prompt":[)" + text + "]}").known);
  EXPECT_FALSE(made(R"({"prompt":)" + text + "}", {ModelId{1}, 5}, 0).known);
  std::string ids = R"({"prompt":[1000)";
  for (int i = 1; i < 200; ++i) ids += "," + std::to_string(1000 + i);
  EXPECT_TRUE(made(ids + "]}").known) << "token ids";
}

}  // namespace
}  // namespace evenkeel::gateway
