// What an emulated engine answers, over real sockets.
#include "emulator/support/rig.hpp"

namespace evenkeel::emulator {
namespace {

using http::ClientStatus;
using http::Task;

const std::string chat = R"({"model":"m","messages":[{"role":"user","content":"one two three"}])";

http::Fields told(int tokens) {
  http::Fields fields;
  fields.emplace_back("X-Emulate-Output-Tokens", std::to_string(tokens));
  return fields;
}

TEST(Answers, AStreamHasOneEventATokenAndATrueEnd) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    http::Fields fields = told(12);
    fields.emplace_back("X-Request-Id", "my-id");
    const Heard heard = co_await talker.post(
        "/v1/chat/completions", chat + R"(,"stream":true,"stream_options":{"include_usage":true}})", fields);
    EXPECT_EQ(heard.code, 200);
    EXPECT_EQ(heard.type, "text/event-stream; charset=utf-8");
    EXPECT_EQ(count_of(heard.body, R"("delta":{"content":" )"), 12U);
    EXPECT_EQ(count_of(heard.body, R"("id":"chatcmpl-my-id")"), 14U);  // role, tokens, usage
    EXPECT_EQ(count_of(heard.body, R"("finish_reason":"stop")"), 1U);
    EXPECT_NE(heard.body.find(R"("choices":[],"usage":{"prompt_tokens":3,"total_tokens":15,"completion_tokens":12})"),
              std::string::npos);
    EXPECT_TRUE(heard.body.ends_with("\n\ndata: [DONE]\n\n"));
  });
}

TEST(Answers, AStreamAndAPlainAnswerOfOneRequestSayTheSame) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    const Heard plain = co_await talker.post("/v1/chat/completions", chat + "}");
    const Heard again = co_await talker.post("/v1/chat/completions", chat + R"(,"user":"somebody else"})");
    const Heard streamed = co_await talker.post("/v1/chat/completions", chat + R"(,"stream":true})");
    const auto content = [](const std::string& body) {
      const auto from = body.find(R"("content":")") + 11;
      return body.substr(from, body.find('"', from) - from);
    };
    std::string joined;
    for (auto at = streamed.body.find(R"("delta":{"content":")"); at != std::string::npos;
         at = streamed.body.find(R"("delta":{"content":")", at + 1)) {
      const auto from = at + 20;
      joined += streamed.body.substr(from, streamed.body.find('"', from) - from);
    }
    EXPECT_EQ(joined, content(plain.body));
    EXPECT_EQ(content(again.body), content(plain.body));
    EXPECT_GE(joined.size(), 10U);
  });
}

TEST(Answers, TwoReplicasOfOneSeedSayTheSame) {
  auto options = quick_options();
  options.replicas = 2;
  http::EventLoop loop;
  auto fleet = Emulator::open(loop, options);
  ASSERT_TRUE(fleet.has_value());
  ASSERT_EQ(fleet->ports().size(), 2U);
  std::vector<std::string> bodies;
  for (const auto port : fleet->ports()) {
    loop.spawn(
        [](http::Fiber& fiber, http::Address to, std::vector<std::string>* into) -> Task<void> {
          Talker talker(fiber, to);
          http::Fields id;
          id.emplace_back("X-Request-Id", "x");
          Heard heard = co_await talker.post("/v1/messages",
                                             R"({"max_tokens":50,"messages":[{"role":"user","content":"hi"}]})", id);
          into->push_back(std::move(heard.body));
          if (into->size() == 2) fiber.loop().stop();
        },
        *http::resolve("127.0.0.1", port), &bodies);
  }
  loop.run();
  EXPECT_EQ(bodies.at(0), bodies.at(1));
  EXPECT_NE(bodies.at(0).find(R"("stop_reason":)"), std::string::npos);
}

TEST(Answers, SeveralPromptsAndAnswersComeUnderTheirIndex) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    const Heard heard = co_await talker.post(
        "/v1/completions",
        R"({"prompt":["a b","c"],"n":2,"max_tokens":4,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}})");
    for (const auto* index : {"0", "1", "2", "3"}) {
      EXPECT_EQ(count_of(heard.body, std::string(R"("choices":[{"index":)") + index + ","), 4U);
    }
    EXPECT_EQ(count_of(heard.body, R"("finish_reason":"length")"), 4U);
    EXPECT_NE(heard.body.find(R"("usage":{"prompt_tokens":3,"total_tokens":19,"completion_tokens":16})"),
              std::string::npos);
  });
}

TEST(Answers, TheHeadOfAStreamComesBeforeAnyToken) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"stall":true})");
    http::ClientExchange exchange(talker.fiber(), talker.to());
    EXPECT_EQ(co_await talker.open(exchange, "POST", "/v1/chat/completions", chat + R"(,"stream":true})"),
              ClientStatus::ok);
    EXPECT_EQ(exchange.status(), 200);  // and there cannot be a token
    EXPECT_EQ(co_await talker.state("running") + co_await talker.state("waiting"), 1);
    (void)co_await talker.ask("DELETE", "/emulator/faults");
    const auto [status, bytes] = co_await exchange.next();
    EXPECT_EQ(status, ClientStatus::ok);
    EXPECT_TRUE(bytes.starts_with("data: ")) << bytes;
    EXPECT_NE(bytes.find(R"("role":"assistant")"), std::string_view::npos);
  });
}

TEST(Answers, ResponsesCanBeFetchedAgainButNotCancelled) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    http::Fields id;
    id.emplace_back("X-Request-Id", "x");
    const Heard plain = co_await talker.post("/v1/responses", R"({"input":"a b"})", id);
    EXPECT_EQ(plain.code, 200);
    const Heard fetched = co_await talker.get("/v1/responses/resp_x");
    EXPECT_EQ(fetched.body, plain.body);
    EXPECT_EQ((co_await talker.post("/v1/responses/resp_x/cancel", "")).code, 400);
    EXPECT_EQ((co_await talker.get("/v1/responses/resp_y")).code, 404);
    const Heard streamed =
        co_await talker.post("/v1/responses", R"({"input":"a b","stream":true,"max_output_tokens":2})", told(5));
    EXPECT_NE(streamed.body.find("event: response.incomplete\n"), std::string::npos);
  });
}

TEST(Answers, TokenizeAndDetokenizeCountWords) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    const Heard ids = co_await talker.post("/tokenize", R"({"prompt":"sea wind"})");
    EXPECT_EQ(ids.body, R"({"count":2,"max_model_len":16000,"tokens":[1114,1127],"token_strs":null})");
    EXPECT_EQ((co_await talker.post("/detokenize", R"({"tokens":[1114,1127]})")).body, R"({"prompt":" sea wind"})");
    EXPECT_EQ(
        (co_await talker.post("/v1/messages/count_tokens", R"({"messages":[{"role":"user","content":"a b"}]})")).body,
        R"({"input_tokens":2})");
  });
}

TEST(Answers, EmbeddingsOfEqualInputsAreEqual) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    const Heard heard = co_await talker.post(
        "/v1/embeddings", R"({"input":["a b","c","a b"],"dimensions":4,"encoding_format":"base64"})");
    std::vector<std::string> vectors;
    for (auto at = heard.body.find(R"("embedding":")"); at != std::string::npos;
         at = heard.body.find(R"("embedding":")", at + 1)) {
      vectors.push_back(heard.body.substr(at + 13, 24));
    }
    EXPECT_EQ(vectors.size(), 3U) << heard.body;
    if (vectors.size() != 3) co_return;
    EXPECT_EQ(vectors[0], vectors[2]);
    EXPECT_NE(vectors[0], vectors[1]);
    EXPECT_NE(heard.body.find(R"("usage":{"prompt_tokens":5,"total_tokens":5,)"), std::string::npos);
  });
}

TEST(Answers, TheOtherPagesOfAnEngine) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    const Heard models = co_await talker.get("/v1/models");
    EXPECT_NE(models.body.find(R"("owned_by":"vllm","root":"m","parent":null,"max_model_len":16000)"),
              std::string::npos)
        << models.body;
    const Heard health = co_await talker.get("/health");
    EXPECT_EQ(health.code, 200);
    EXPECT_EQ(health.body, "");
    EXPECT_NE((co_await talker.get("/version")).body.find(R"({"version":")"), std::string::npos);
    EXPECT_EQ((co_await talker.get("/load")).body, R"({"server_load":0})");
  });
}

TEST(Answers, WhatIsWrongIsToldInVllmsWords) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    const Heard unknown =
        co_await talker.post("/v1/chat/completions", R"({"model":"x","messages":[{"role":"user","content":"a"}]})");
    EXPECT_EQ(unknown.code, 404);
    EXPECT_NE(unknown.body.find(R"("type":"NotFoundError","param":"model","code":404)"), std::string::npos);
    http::Fields plain;
    plain.emplace_back("Content-Type", "text/plain");
    EXPECT_EQ((co_await talker.post("/v1/chat/completions", chat + "}", plain)).code, 400);
    http::Fields charset;
    charset.emplace_back("Content-Type", "application/json; charset=utf-8");
    EXPECT_EQ((co_await talker.post("/v1/chat/completions", chat + "}", charset)).code, 200);
    const Heard overflow = co_await talker.post("/v1/completions", R"({"prompt":"a","max_tokens":16000})");
    EXPECT_EQ(overflow.code, 400);
    EXPECT_NE(overflow.body.find("maximum context length is 16000 tokens"), std::string::npos);
    EXPECT_EQ((co_await talker.post("/v1/completions", "{")).code, 400);
    EXPECT_EQ((co_await talker.post("/v1/completions", R"({"prompt":"a"})", told(0))).code, 400);
    EXPECT_EQ((co_await talker.get("/v1/completions")).code, 405);
    EXPECT_EQ((co_await talker.get("/nothing")).code, 404);
    EXPECT_EQ((co_await talker.post("/v1/completions/", R"({"prompt":"a"})")).code, 307);
    EXPECT_EQ(co_await talker.state("received"), 1);  // only the good one reached the engine
  });
}

TEST(Answers, ARankOutOfRangeIsAnErrorEventOnAStream) {
  auto options = quick_options();
  options.engine.law = engine::StepLaw{.fixed_ms = 1, .token_ms = 0.01};
  options.engine.ranks = 2;
  tell(options, [](Talker& talker) -> Task<void> {
    http::Fields rank;
    rank.emplace_back("X-data-parallel-rank", "2");
    EXPECT_EQ((co_await talker.post("/v1/chat/completions", chat + "}", rank)).code, 400);
    const Heard streamed = co_await talker.post("/v1/chat/completions", chat + R"(,"stream":true})", rank);
    EXPECT_EQ(streamed.code, 200);
    EXPECT_TRUE(streamed.body.starts_with(R"(data: {"error":{)")) << streamed.body;
    rank[0].second = "1";
    EXPECT_EQ((co_await talker.post("/v1/chat/completions", chat + "}", rank)).code, 200);
    const Heard metrics = co_await talker.get("/metrics");
    EXPECT_NE(metrics.body.find("vllm:prompt_tokens_total{engine=\"1\",model_name=\"m\"} 3.0\n"), std::string::npos);
    EXPECT_NE(metrics.body.find("vllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} 0.0\n"), std::string::npos);
  });
}

TEST(Answers, MetricsCountWhatWasServedAndStandStillAfter) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/v1/chat/completions", chat + "}", told(9));
    (void)co_await talker.post("/v1/chat/completions", chat + R"(,"max_tokens":4,"stream":true})", told(9));
    const Heard metrics = co_await talker.get("/metrics");
    for (const auto* line :
         {"vllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} 6.0\n",
          "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 13.0\n",
          "vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"m\"} 1.0\n",
          "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"m\"} 1.0\n",
          "vllm:time_to_first_token_seconds_count{engine=\"0\",model_name=\"m\"} 2.0\n",
          "vllm:inter_token_latency_seconds_count{engine=\"0\",model_name=\"m\"} 11.0\n"}) {
      EXPECT_NE(metrics.body.find(line), std::string::npos) << line;
    }
    EXPECT_EQ((co_await talker.get("/metrics")).body, metrics.body);
  });
}

}  // namespace
}  // namespace evenkeel::emulator
