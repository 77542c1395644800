// Prefill and decode engines that hand KV over, over real sockets: the choreography of a router by hand.
#include "emulator/support/pair.hpp"

namespace evenkeel::emulator {
namespace {

using http::Task;

const std::string first_leg =
    question + R"(,"max_tokens":1,"stream":false,"kv_transfer_params":{"do_remote_decode":true,)"
               R"("do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,"remote_host":null,)"
               R"("remote_port":null}})";

/// The object that the answer of the first leg brings.
std::string params_of(const Heard& answer) {
  const std::string key = R"("kv_transfer_params":)";
  const auto at = answer.body.find(key);
  EXPECT_NE(at, std::string::npos) << answer.body;
  const auto from = at + key.size();
  return answer.body.substr(from, answer.body.size() - 1 - from);
}

std::string second_leg(const std::string& params, bool stream = false) {
  return question + R"(,"max_tokens":50,"kv_transfer_params":)" + params + (stream ? R"(,"stream":true})" : "}");
}

TEST(Handoff, TheSecondLegPullsAndSaysWhatOneEngineWouldSay) {
  tell_pair(with_role(Role::prefill), with_role(Role::decode), [](Pair& pair) -> Task<void> {
    http::Fields id;
    id.emplace_back("X-Request-Id", "shared");
    const Heard first = co_await pair.prefill.post("/v1/chat/completions", first_leg, id);
    EXPECT_EQ(first.code, 200);
    EXPECT_NE(first.body.find(R"("finish_reason":"length")"), std::string::npos) << first.body;
    const std::string params = params_of(first);
    EXPECT_TRUE(params.starts_with(
        R"({"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[1]],"remote_engine_id":")"))
        << params;
    EXPECT_NE(params.find(R"("remote_request_id":"chatcmpl-shared-00000001","remote_host":"127.0.0.1","remote_port":)" +
                          std::to_string(pair.prefill.to().port()) + R"(,"tp_size":1,"remote_num_tokens":7,)"),
              std::string::npos)
        << params;
    EXPECT_EQ(co_await count(pair.prefill, "leases_open"), 1);
    EXPECT_EQ(co_await count(pair.prefill, "kept_blocks"), 1);
    const Heard second = co_await pair.decode.post("/v1/chat/completions", second_leg(params), id);
    EXPECT_EQ(second.code, 200);
    EXPECT_NE(second.body.find(R"("kv_transfer_params":null})"), std::string::npos);
    const Heard alone = co_await pair.prefill.post("/v1/chat/completions", question + R"(,"max_tokens":50})");
    EXPECT_EQ(content_of(second.body), content_of(alone.body));  // its first token is made again
    EXPECT_EQ(co_await count(pair.prefill, "leases_open"), 0);
    EXPECT_EQ(co_await count(pair.prefill, "pulled"), 1);
    EXPECT_EQ(co_await pair.prefill.state("used_blocks"), 0);
    EXPECT_EQ(co_await count(pair.decode, "loaded"), 1);
    EXPECT_EQ(co_await count(pair.decode, "loaded_tokens"), 7);
    const Heard metrics = co_await pair.decode.get("/metrics");
    EXPECT_EQ(count_of(metrics.body, "vllm:external_prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 7.0\n"), 1U);
    EXPECT_EQ(count_of(metrics.body, "vllm:nixl_num_failed_transfers_total{engine=\"0\",model_name=\"m\"} 0.0\n"), 1U);
  });
}

TEST(Handoff, ParametersUsedTwiceGarbleTheAnswerOrAreAnError) {
  auto strict = with_role(Role::decode);
  strict.kv->error_on_reuse = true;
  for (const bool error : {false, true}) {
    tell_pair(with_role(Role::prefill), error ? strict : with_role(Role::decode),
              error ? [](Pair& pair) -> Task<void> {
      const std::string params = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
      EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", second_leg(params))).code, 200);
      EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", second_leg(params))).code, 500);
      const Heard stream = co_await pair.decode.post("/v1/chat/completions", second_leg(params, true));
      EXPECT_EQ(stream.code, 200);
      EXPECT_TRUE(stream.body.starts_with(R"(data: {"error":{"message":"KV of the prompt could not be loaded.")"));
      EXPECT_EQ(co_await count(pair.prefill, "reused"), 2);
      EXPECT_EQ(co_await count(pair.decode, "failed"), 2);
      EXPECT_EQ(co_await pair.decode.state("used_blocks"), 0);
    } : [](Pair& pair) -> Task<void> {
      const std::string params = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
      const Heard right = co_await pair.decode.post("/v1/chat/completions", second_leg(params));
      EXPECT_EQ(count_of(right.body, " drift drift drift"), 0U);
      const Heard wrong = co_await pair.decode.post("/v1/chat/completions", second_leg(params));
      EXPECT_EQ(wrong.code, 200);
      EXPECT_TRUE(content_of(wrong.body).starts_with(" drift drift drift")) << wrong.body;
      EXPECT_EQ(co_await count(pair.prefill, "reused"), 1);
      EXPECT_EQ(co_await count(pair.decode, "garbled"), 1);
    });
  }
}

TEST(Handoff, AClientThatGoesBetweenTheLegsLeavesTheBlocksUntilTheLeaseEnds) {
  auto prefill = with_role(Role::prefill);
  prefill.kv->lease = std::chrono::seconds(30);  // 30 ms of real time
  tell_pair(prefill, with_role(Role::decode), [](Pair& pair) -> Task<void> {
    const std::string params = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
    co_await pair.prefill.until_state("used_blocks", 0);
    EXPECT_EQ(co_await count(pair.prefill, "expired"), 1);
    EXPECT_EQ(co_await count(pair.prefill, "leases_open"), 0);
    EXPECT_EQ(count_of((co_await pair.prefill.get("/metrics")).body,
                       "vllm:nixl_num_kv_expired_reqs_total{engine=\"0\",model_name=\"m\"} 1.0\n"),
              1U);
    const Heard late = co_await pair.decode.post("/v1/chat/completions", second_leg(params));
    EXPECT_EQ(late.code, 200);
    EXPECT_EQ(co_await count(pair.decode, "recomputed"), 1);
    EXPECT_EQ(co_await count(pair.decode, "loaded"), 0);
  });
}

TEST(Handoff, WhatNobodyKnowsIsPrefilledWhereItIs) {
  tell_pair(with_role(Role::prefill), with_role(Role::decode), [](Pair& pair) -> Task<void> {
    const std::string port = std::to_string(pair.prefill.to().port());
    const std::string params =
        R"({"do_remote_prefill":true,"remote_engine_id":"another","remote_request_id":"x","remote_host":"127.0.0.1","remote_port":)" +
        port + "}";
    EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", second_leg(params))).code, 200);
    EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", second_leg(R"({"do_remote_prefill":true})"))).code,
              200);
    EXPECT_EQ(co_await count(pair.decode, "recomputed"), 2);
    EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", second_leg("7"))).code, 400);
  });
}

TEST(Handoff, APrefillSideThatDoesNotAnswerFailsTheRequestOrIsDoneWithout) {
  auto patient = with_role(Role::decode);
  patient.kv->recompute_on_failure = true;
  for (const bool recompute : {false, true}) {
    tell_pair(with_role(Role::prefill), recompute ? patient : with_role(Role::decode),
              recompute ? [](Pair& pair) -> Task<void> {
      const std::string params = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
      (void)co_await pair.prefill.post("/emulator/faults", R"({"refuse":true})");
      EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", second_leg(params))).code, 200);
      EXPECT_EQ(co_await count(pair.decode, "failed"), 1);
    } : [](Pair& pair) -> Task<void> {
      const std::string params = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
      (void)co_await pair.prefill.post("/emulator/faults", R"({"refuse":true})");
      const Heard failed = co_await pair.decode.post("/v1/chat/completions", second_leg(params));
      EXPECT_EQ(failed.code, 500);
      EXPECT_EQ(co_await count(pair.decode, "failed"), 1);
      EXPECT_EQ(co_await pair.decode.state("used_blocks"), 0);
      EXPECT_EQ(co_await count(pair.prefill, "leases_open"), 1);  // until its lease ends
    });
  }
}

TEST(Handoff, ADecodeSideThatWillNotPullTellsThePrefillSide) {
  auto busy = with_role(Role::decode);
  busy.engine.slots = 1;
  tell_pair(with_role(Role::prefill), busy, [](Pair& pair) -> Task<void> {
    // Refused: more than fits into the model length.
    const std::string params = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
    const Heard refused = co_await pair.decode.post(
        "/v1/chat/completions", question + R"(,"max_tokens":999999,"kv_transfer_params":)" + params + "}");
    EXPECT_EQ(refused.code, 400);
    co_await pair.prefill.until_state("used_blocks", 0);
    EXPECT_EQ(co_await count(pair.prefill, "declined"), 1);
    // Gone while it waits for a slot.
    (void)co_await pair.decode.post("/emulator/faults", R"({"stall":true})");
    http::ClientExchange running(pair.decode.fiber(), pair.decode.to());
    EXPECT_EQ(co_await pair.decode.open(running, "POST", "/v1/chat/completions", question + R"(,"stream":true})"),
              http::ClientStatus::ok);
    const std::string again = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
    {
      http::ClientExchange waiting(pair.decode.fiber(), pair.decode.to());
      EXPECT_EQ(co_await pair.decode.open(waiting, "POST", "/v1/chat/completions", second_leg(again, true)),
                http::ClientStatus::ok);
      EXPECT_EQ(co_await pair.decode.state("waiting"), 1);
      waiting.close();
    }
    co_await pair.prefill.until_state("used_blocks", 0);
    EXPECT_EQ(co_await count(pair.prefill, "declined"), 2);
  });
}

TEST(Handoff, WhoWaitsForASlotRenewsTheLease) {
  auto busy = with_role(Role::decode);
  busy.kv->lease = std::chrono::seconds(6);  // says so every second of its time
  busy.engine.law = engine::StepLaw{.fixed_ms = 1000};
  busy.engine.slots = 1;
  tell_pair(with_role(Role::prefill), busy, [](Pair& pair) -> Task<void> {
    http::Fields told;
    told.emplace_back("X-Emulate-Output-Tokens", "15000");
    http::ClientExchange running(pair.decode.fiber(), pair.decode.to());
    EXPECT_EQ(co_await pair.decode.open(running, "POST", "/v1/chat/completions", question + R"(,"stream":true})", told),
              http::ClientStatus::ok);
    const std::string params = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
    http::ClientExchange waiting(pair.decode.fiber(), pair.decode.to());
    EXPECT_EQ(co_await pair.decode.open(waiting, "POST", "/v1/chat/completions", second_leg(params, true)),
              http::ClientStatus::ok);
    double renewed = 0;
    while (renewed < 3) renewed = co_await count(pair.prefill, "renewed");
    EXPECT_EQ(co_await count(pair.decode, "loaded"), 0);
    running.close();
    co_await pair.decode.until_state("completed", 1);
    EXPECT_EQ(co_await count(pair.decode, "loaded"), 1);
    EXPECT_EQ(co_await count(pair.prefill, "leases_open"), 0);
  });
}

/// What a crowd of clients does with both engines.
struct Crowd {
  Random random{17};
  int left = 0;
  int answered = 0;
};

/// One client: at any point it may go, and it may use what it was given a second time.
Task<void> behave(http::Fiber& fiber, http::Address p, http::Address d, Crowd* crowd) {
  Pair pair{Talker(fiber, p), Talker(fiber, d)};
  for (int i = 0; i < 20; ++i) {
    http::Fields told;
    told.emplace_back("X-Emulate-Output-Tokens", std::to_string(1 + crowd->random.below(30)));
    if (crowd->random.below(6) == 0) {
      http::ClientExchange gone(fiber, p);  // sends and goes, before or behind the engine's work
      http::ClientRequest request;
      request.method = "POST";
      request.path = "/v1/chat/completions";
      request.host = "h";
      request.fields.emplace_back("Content-Type", "application/json");
      request.body = first_leg;
      (void)co_await gone.send(request);
      if (crowd->random.below(2) == 0) co_await fiber.sleep_until(fiber.loop().now() + std::chrono::microseconds(30));
      continue;
    }
    const std::string params = params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg));
    const auto mood = crowd->random.below(6);
    if (mood == 0) continue;
    if (mood == 1) {
      http::ClientExchange gone(fiber, d);
      (void)co_await pair.decode.open(gone, "POST", "/v1/chat/completions", second_leg(params, true), told);
      continue;
    }
    const Heard answer = co_await pair.decode.post("/v1/chat/completions", second_leg(params, mood == 2), told);
    EXPECT_EQ(answer.code, 200);
    ++crowd->answered;
    if (mood == 3) (void)co_await pair.decode.post("/v1/chat/completions", second_leg(params), told);
  }
  --crowd->left;
}

TEST(Handoff, WhateverClientsDoEveryLeaseEndsOnceAndNoBlockIsLeft) {
  http::EventLoop loop;
  auto options = with_role(Role::prefill);
  options.kv->lease = std::chrono::seconds(100);
  options.engine.kv_capacity = Tokens(640);
  options.engine.slots = 8;
  auto first = Emulator::open(loop, options);
  options.kv->role = Role::decode;
  auto second = Emulator::open(loop, options);
  ASSERT_TRUE(first.has_value() && second.has_value());
  const auto p = *http::resolve("127.0.0.1", first->ports().at(0));
  const auto d = *http::resolve("127.0.0.1", second->ports().at(0));
  Crowd crowd;
  crowd.left = 20;
  for (int i = 0; i < crowd.left; ++i) loop.spawn(behave, p, d, &crowd);
  loop.spawn(
      [](http::Fiber& fiber, http::Address to_p, http::Address to_d, Crowd* who) -> Task<void> {
        Pair pair{Talker(fiber, to_p), Talker(fiber, to_d)};
        while (who->left > 0) (void)co_await pair.prefill.state("running");
        co_await pair.prefill.until_state("used_blocks", 0);
        co_await pair.decode.until_state("used_blocks", 0);
        const double opened = co_await count(pair.prefill, "leases_opened");
        const double pulled = co_await count(pair.prefill, "pulled");
        const double declined = co_await count(pair.prefill, "declined");
        const double expired = co_await count(pair.prefill, "expired");
        EXPECT_EQ(co_await count(pair.prefill, "leases_open"), 0);
        EXPECT_EQ(co_await count(pair.prefill, "kept_blocks"), 0);
        EXPECT_EQ(opened, pulled + declined + expired);
        EXPECT_EQ(co_await count(pair.decode, "loaded"), pulled);
        EXPECT_GT(pulled, who->answered / 2);
        EXPECT_GT(expired, 0);
        EXPECT_GT(co_await count(pair.prefill, "reused"), 0);
        fiber.loop().stop();
      },
      p, d, &crowd);
  loop.run();
}

TEST(Handoff, WithoutARoleTheParametersAreNothing) {
  tell_pair(quick_options(), quick_options(), [](Pair& pair) -> Task<void> {
    EXPECT_EQ(params_of(co_await pair.prefill.post("/v1/chat/completions", first_leg)), "null");
    EXPECT_EQ((co_await pair.prefill.post("/kv/end", "{}")).code, 404);
    EXPECT_EQ(count_of((co_await pair.prefill.get("/metrics")).body, "nixl"), 0U);
  });
}

}  // namespace
}  // namespace evenkeel::emulator
