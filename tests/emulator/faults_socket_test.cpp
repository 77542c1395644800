// Clients that leave, and engines that are told to fail, over real sockets.
#include "emulator/support/rig.hpp"

namespace evenkeel::emulator {
namespace {

using http::ClientStatus;
using http::Task;

const std::string endless = R"({"messages":[{"role":"user","content":"a b c"}],"ignore_eos":true,"stream":)";
const std::string stream20 = R"({"prompt":"a","max_tokens":20,"ignore_eos":true,"stream":true})";
const std::string plain20 = R"({"prompt":"a","max_tokens":20,"ignore_eos":true})";

/// Its answer would take hours.
EmulatorOptions slow_options() {
  auto options = quick_options();
  options.time_scale = 1;
  return options;
}

TEST(Leaving, FreesTheSlotAndTheBlocksOfAStream) {
  tell(slow_options(), [](Talker& talker) -> Task<void> {
    {
      http::ClientExchange exchange(talker.fiber(), talker.to());
      EXPECT_EQ(co_await talker.open(exchange, "POST", "/v1/chat/completions", endless + "true}"), ClientStatus::ok);
      co_await talker.until_state("running", 1);
      EXPECT_GT(co_await talker.state("used_blocks"), 0);
    }
    co_await talker.until_state("aborted", 1);
    EXPECT_EQ(co_await talker.state("running"), 0);
    EXPECT_EQ(co_await talker.state("used_blocks"), 0);
    EXPECT_EQ(co_await talker.state("completed"), 0);
  });
}

/// Sends a request that is never answered, keeps the connection until `*let_go`, and leaves.
Task<void> hang(http::Fiber& fiber, http::Address to, const bool* let_go, int* gone) {
  http::Stream stream = http::Stream::begin_connect(fiber.loop(), to);
  stream.bind(&fiber);
  if (co_await stream.connected() == http::IoStatus::ok) {
    const std::string body = endless + "false}";
    const std::string bytes =
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: "
        "application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    (void)co_await stream.write_all(bytes);
    while (!*let_go) co_await fiber.sleep_until(fiber.loop().now() + std::chrono::milliseconds(1));
  }
  stream.close();
  ++*gone;
}

TEST(Leaving, FreesPlainRequestsThatRunOrWait) {
  tell(slow_options(), [](Talker& talker) -> Task<void> {
    bool let_go = false;
    int gone = 0;
    for (int i = 0; i < 5; ++i) talker.fiber().loop().spawn(hang, talker.to(), &let_go, &gone);
    co_await talker.until_state("received", 5);
    EXPECT_EQ(co_await talker.state("running"), 2);
    EXPECT_EQ(co_await talker.state("waiting"), 3);
    let_go = true;
    co_await talker.until_state("aborted", 5);
    EXPECT_EQ(gone, 5);
    EXPECT_EQ(co_await talker.state("running") + co_await talker.state("waiting"), 0);
    EXPECT_EQ(co_await talker.state("kv_tokens"), 0);
    co_await talker.until_state("open_connections", 1);
  });
}

TEST(Faults, RefuseResetsAndTheControlStillAnswers) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    EXPECT_EQ((co_await talker.post("/emulator/faults", R"({"refuse":true})")).code, 200);
    EXPECT_EQ((co_await talker.post("/v1/completions", plain20)).status, ClientStatus::broken);
    EXPECT_EQ((co_await talker.get("/health")).status, ClientStatus::broken);
    EXPECT_NE((co_await talker.get("/emulator/faults")).body.find(R"("refuse":true)"), std::string::npos);
    EXPECT_EQ((co_await talker.ask("DELETE", "/emulator/faults")).code, 200);
    EXPECT_EQ((co_await talker.post("/v1/completions", plain20)).code, 200);
  });
}

TEST(Faults, AnEngineThatDoesNotListenComesBackOnItsPort) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    EXPECT_EQ((co_await talker.post("/emulator/faults", R"({"unlisten_ms":300})")).code, 200);
    bool was_away = false;
    while (true) {
      const Heard heard = co_await talker.get("/health");
      was_away = was_away || heard.status == ClientStatus::connect_failed;
      if (was_away && heard.status == ClientStatus::ok) break;
    }
    EXPECT_TRUE(was_away);
  });
}

TEST(Faults, DyingAfterSoManyTokensIsAResetBehindExactlyThose) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"die_after_tokens":7})");
    const Heard streamed = co_await talker.post("/v1/completions", stream20);
    EXPECT_EQ(streamed.status, ClientStatus::broken);
    EXPECT_EQ(count_of(streamed.body, "data: "), 7U);
    EXPECT_EQ((co_await talker.post("/v1/completions", plain20)).status, ClientStatus::broken);
    co_await talker.until_state("faulted", 2);
    EXPECT_EQ(co_await talker.state("running"), 0);
    (void)co_await talker.post("/emulator/faults", R"({"die_after_tokens":0})");
    const Heard at_once = co_await talker.post("/v1/completions", stream20);
    EXPECT_EQ(at_once.status, ClientStatus::broken);
    EXPECT_EQ(at_once.body, "");
  });
}

TEST(Faults, ATruncatedStreamEndsCleanlyAndNotTruly) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"truncate_after_tokens":7})");
    const Heard cut = co_await talker.post("/v1/completions", stream20);
    EXPECT_EQ(cut.status, ClientStatus::ok);
    EXPECT_EQ(count_of(cut.body, "data: "), 7U);
    const Heard plain = co_await talker.post("/v1/completions", plain20);
    EXPECT_EQ(plain.status, ClientStatus::ok);
    EXPECT_TRUE(plain.body.starts_with("{\"id\"") && !plain.body.ends_with("}")) << plain.body;
    (void)co_await talker.post("/emulator/faults", R"({"truncate_after_tokens":1000})");
    const Heard whole = co_await talker.post("/v1/completions", stream20);
    EXPECT_EQ(count_of(whole.body, "data: "), 20U);
    EXPECT_EQ(count_of(whole.body, "[DONE]"), 0U);
  });
}

TEST(Faults, AStatusIsGivenSoManyTimes) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"status":503,"status_count":2})");
    const Heard first = co_await talker.post("/v1/completions", plain20);
    EXPECT_EQ(first.code, 503);
    EXPECT_NE(first.body.find(R"("code":503)"), std::string::npos);
    EXPECT_EQ((co_await talker.get("/health")).code, 200);
    EXPECT_EQ((co_await talker.post("/v1/completions", stream20)).code, 503);
    EXPECT_EQ((co_await talker.post("/v1/completions", plain20)).code, 200);
  });
}

TEST(Faults, AnErrorMayBeTheFirstEventOfA200) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"error_event_first":true})");
    const Heard streamed = co_await talker.post("/v1/completions", stream20);
    EXPECT_EQ(streamed.code, 200);
    EXPECT_EQ(streamed.body,
              "data: {\"error\":{\"message\":\"Injected fault.\",\"type\":\"InternalServerError\",\"param\":null,"
              "\"code\":500}}\n\ndata: [DONE]\n\n");
    EXPECT_EQ((co_await talker.post("/v1/completions", plain20)).code, 500);
  });
}

TEST(Faults, HealthAndDropsAreSetApartFromEachOther) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"health_status":503})");
    EXPECT_EQ((co_await talker.get("/health")).code, 503);
    EXPECT_EQ((co_await talker.post("/v1/completions", plain20)).code, 200);
    (void)co_await talker.post("/emulator/faults", R"({"health_status":200,"drop_probability":1})");
    EXPECT_EQ((co_await talker.get("/health")).code, 200);
    EXPECT_EQ((co_await talker.post("/v1/completions", plain20)).status, ClientStatus::broken);
  });
}

TEST(Faults, AStalledEngineTakesRequestsAndGoesOnWhenCleared) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"stall":true})");
    bool let_go = false;
    int gone = 0;
    talker.fiber().loop().spawn(hang, talker.to(), &let_go, &gone);
    co_await talker.until_state("received", 1);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(co_await talker.state("completed"), 0);
    EXPECT_NE((co_await talker.get("/metrics"))
                  .body.find("vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 0.0\n"),
              std::string::npos);
    (void)co_await talker.ask("DELETE", "/emulator/faults");
    co_await talker.until_state("completed", 1);
    let_go = true;
    co_await talker.until_state("open_connections", 1);
  });
}

TEST(Faults, LateGaugesShowAnEngineBeforeItsWork) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"gauge_lag_ms":600000})");
    (void)co_await talker.post("/v1/completions", plain20);
    const std::string none = "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 0.0\n";
    EXPECT_NE((co_await talker.get("/metrics")).body.find(none), std::string::npos);
    (void)co_await talker.post("/emulator/faults", R"({"gauge_lag_ms":0,"metrics_delay_ms":1})");
    EXPECT_EQ((co_await talker.get("/metrics")).body.find(none), std::string::npos);
  });
}

TEST(Faults, UnknownOnesAreRefusedByName) {
  tell(quick_options(), [](Talker& talker) -> Task<void> {
    const Heard heard = co_await talker.post("/emulator/faults", R"({"stall":true,"refuze":true})");
    EXPECT_EQ(heard.code, 400);
    EXPECT_EQ(heard.body, R"({"error":"there is no fault \"refuze\", did you mean refuse?"})");
    EXPECT_NE((co_await talker.get("/emulator/faults")).body.find(R"("stall":false)"), std::string::npos);
  });
}

TEST(Options, AreRefusedInWords) {
  http::EventLoop loop;
  const auto complaint = [&](auto change) {
    auto options = quick_options();
    change(options);
    const auto fleet = Emulator::open(loop, options);
    return fleet ? std::string() : fleet.error().message;
  };
  EXPECT_NE(complaint([](EmulatorOptions& o) { o.time_scale = 0; }).find("0.001 to 1000"), std::string::npos);
  EXPECT_NE(complaint([](EmulatorOptions& o) { o.replicas = 65; }).find("1 to 64"), std::string::npos);
  EXPECT_NE(complaint([](EmulatorOptions& o) { o.model.clear(); }).find("1 to 256"), std::string::npos);
  EXPECT_NE(complaint([](EmulatorOptions& o) {
              o.port = 65535;
              o.replicas = 2;
            }).find("65535"),
            std::string::npos);
  EXPECT_NE(complaint([](EmulatorOptions& o) { o.engine.slots = 0; }), "");
  EXPECT_NE(complaint([](EmulatorOptions& o) { o.engine.ranks = 2; }).find("step by themselves"), std::string::npos);
  EXPECT_NE(complaint([](EmulatorOptions& o) { o.rank_ports = true; }).find("ranks is 1"), std::string::npos);
  EXPECT_NE(complaint([](EmulatorOptions& o) {
              o.sync = false;
              o.engine.ranks = 32;
              o.rank_ports = true;
              o.replicas = 64;
            }).find("2048 ports"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel::emulator
