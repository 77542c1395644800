// The prefix cache of an emulated engine as its clients and its metrics page see it.
#include "emulator/support/rig.hpp"

namespace evenkeel::emulator {
namespace {

using http::Task;

/// KV blocks of 16 tokens.
EmulatorOptions with_prefix_cache(std::size_t ranks = 1) {
  auto options = quick_options();
  options.engine = {};
  options.engine.law = engine::StepLaw{.fixed_ms = 10, .token_ms = 0.1};
  options.engine.prefix_cache = true;
  options.engine.ranks = ranks;
  options.sync = true;
  return options;
}

/// Token ids from `first` on.
std::string ids(int first, int count) {
  std::string body = R"({"max_tokens":4,"prompt":[)";
  for (int i = 0; i < count; ++i) body += (i == 0 ? "" : ",") + std::to_string(first + i);
  return body + "]}";
}

std::string with(std::string body, const std::string& member) {
  body.pop_back();
  return body + "," + member + "}";
}

/// What the answer says was found, or -1 for null or nothing.
std::int64_t cached(const Heard& answer) {
  const std::string key = R"("prompt_tokens_details":{"cached_tokens":)";
  const auto at = answer.body.find(key);
  return at == std::string::npos ? -1 : std::stoll(answer.body.substr(at + key.size()));
}

std::string words(const std::string& stem, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : " ") + stem + std::to_string(i);
  return text;
}

TEST(PrefixCache, AnAnswerSaysHowMuchOfItsPromptWasFoundAndNothingWhereNothingWas) {
  tell(with_prefix_cache(), [](Talker& talker) -> Task<void> {
    const Heard first = co_await talker.post("/v1/completions", ids(1, 50));
    EXPECT_NE(first.body.find(R"("prompt_tokens_details":null)"), std::string::npos) << first.body;
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 50))), 48);  // three blocks of 16
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 48))), 32);  // the last token is always computed
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 90))), 48);  // goes on behind them
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(2, 50))), -1);  // a token less in front
    const Heard metrics = co_await talker.get("/metrics");
    for (const auto* line :
         {R"(vllm:prefix_cache_queries_total{engine="0",model_name="m"} 288.0)",
          R"(vllm:prefix_cache_hits_total{engine="0",model_name="m"} 128.0)", R"(enable_prefix_caching="True")"}) {
      EXPECT_NE(metrics.body.find(line), std::string::npos) << line << " in " << metrics.body;
    }
  });
}

TEST(PrefixCache, AStreamSaysItInItsUsage) {
  tell(with_prefix_cache(), [](Talker& talker) -> Task<void> {
    const std::string body = with(ids(1, 50), R"("stream":true,"stream_options":{"include_usage":true})");
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", body)), -1);
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", body)), 48);
  });
}

TEST(PrefixCache, TheNextTurnOfAConversationFindsTheAnswerToTheLastOne) {
  tell(with_prefix_cache(), [](Talker& talker) -> Task<void> {
    const std::string question = R"({"role":"user","content":")" + words("w", 20) + R"("})";
    http::Fields length;
    length.emplace_back("X-Emulate-Output-Tokens", "30");
    const Heard first =
        co_await talker.post("/v1/chat/completions", R"({"messages":[)" + question + "]}", std::move(length));
    const std::string key = R"("content":")";
    const auto at = first.body.find(key) + key.size();
    const std::string answer = first.body.substr(at, first.body.find('"', at) - at);
    const Heard second = co_await talker.post(
        "/v1/chat/completions", R"({"max_tokens":2,"messages":[)" + question + R"(,{"role":"assistant","content":")" +
                                    answer + R"("},{"role":"user","content":"more"}]})");
    EXPECT_EQ(cached(second), 48);  // of 20 + 30 + 1; the KV of the answer's last token was never made
  });
}

TEST(PrefixCache, IsApartBySalt) {
  tell(with_prefix_cache(), [](Talker& talker) -> Task<void> {
    const auto salted = [](const std::string& salt) { return with(ids(1, 50), R"("cache_salt":")" + salt + "\""); };
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", salted("a"))), -1);
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", salted("b"))), -1);
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 50))), -1);
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", salted("a"))), 48);
    EXPECT_EQ((co_await talker.post("/v1/completions", salted(""))).code, 400);
  });
}

TEST(PrefixCache, TellsImagesApartByTheirContent) {
  tell(with_prefix_cache(), [](Talker& talker) -> Task<void> {
    const auto about = [](const std::string& image) {
      return R"({"max_tokens":2,"messages":[{"role":"user","content":[{"type":"text","text":")" + words("w", 16) +
             R"("},{"type":"image_url","image_url":{"url":"data:image/png;base64,)" + image + R"("}}]}]})";
    };
    EXPECT_EQ(cached(co_await talker.post("/v1/chat/completions", about("AAAA"))), -1);
    EXPECT_EQ(cached(co_await talker.post("/v1/chat/completions", about("BBBB"))), 16);
    EXPECT_EQ(cached(co_await talker.post("/v1/chat/completions", about("AAAA"))), 256);  // of 16 + 256
  });
}

TEST(PrefixCache, IsOfOneRank) {
  tell(with_prefix_cache(2), [](Talker& talker) -> Task<void> {
    const auto at = [](const char* rank) {
      http::Fields fields;
      fields.emplace_back("X-data-parallel-rank", rank);
      return fields;
    };
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 50), at("0"))), -1);
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 50), at("1"))), -1);
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 50), at("1"))), 48);
  });
}

TEST(PrefixCache, WithoutItNothingIsFoundAndTheMetricsSaySo) {
  auto options = with_prefix_cache();
  options.engine.prefix_cache = false;
  tell(options, [](Talker& talker) -> Task<void> {
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 50))), -1);
    EXPECT_EQ(cached(co_await talker.post("/v1/completions", ids(1, 50))), -1);
    const Heard metrics = co_await talker.get("/metrics");
    EXPECT_NE(metrics.body.find(R"(enable_prefix_caching="False")"), std::string::npos);
  });
}

}  // namespace
}  // namespace evenkeel::emulator
