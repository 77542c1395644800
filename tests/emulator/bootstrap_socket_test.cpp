// Prefill and decode legs that meet in a room, over real sockets.
#include "emulator/support/pair.hpp"

namespace evenkeel::emulator {
namespace {

using http::ClientStatus;
using http::Task;

/// Both legs have the same body.
std::string leg(const Pair& pair, std::int64_t room, bool stream) {
  return question + R"(,"max_tokens":20,"bootstrap_host":"127.0.0.1","bootstrap_port":)" +
         std::to_string(pair.prefill.to().port()) + R"(,"bootstrap_room":)" + std::to_string(room) +
         (stream ? R"(,"stream":true})" : "}");
}

Task<void> open_leg(Talker& talker, http::ClientExchange& exchange, std::string body) {
  const auto status = co_await talker.open(exchange, "POST", "/v1/chat/completions", std::move(body));
  EXPECT_EQ(status, ClientStatus::ok);
  EXPECT_EQ(exchange.status(), 200);
}

Task<std::string> rest_of(http::ClientExchange& exchange) {
  std::string body;
  while (true) {
    const auto [status, bytes] = co_await exchange.next();
    if (status != ClientStatus::ok || bytes.empty()) co_return body;
    body += bytes;
  }
}

Task<void> expect_empty(Pair& pair) {
  co_await pair.prefill.until_state("used_blocks", 0);
  co_await pair.decode.until_state("used_blocks", 0);
  EXPECT_EQ(co_await count(pair.prefill, "rooms_open"), 0);
  EXPECT_EQ(co_await count(pair.decode, "rooms_open"), 0);
}

const std::string lost = R"(data: {"error":{"message":"KV of the prompt could not be loaded.")";

TEST(Bootstrap, ThePrefillLegWaitsForTheDecodeLeg) {
  tell_pair(with_role(Role::prefill), with_role(Role::decode), [](Pair& pair) -> Task<void> {
    http::ClientExchange first(pair.prefill.fiber(), pair.prefill.to());
    co_await open_leg(pair.prefill, first, leg(pair, 5, true));
    EXPECT_EQ(co_await count(pair.prefill, "rooms_open"), 1);
    EXPECT_EQ(co_await pair.prefill.state("running") + co_await pair.prefill.state("waiting"), 0);
    const Heard second = co_await pair.decode.post("/v1/chat/completions", leg(pair, 5, false));
    EXPECT_EQ(second.code, 200);
    const std::string prefilled = co_await rest_of(first);
    EXPECT_EQ(count_of(prefilled, R"("delta":{"content":" )"), 1U);
    EXPECT_TRUE(prefilled.ends_with("data: [DONE]\n\n"));
    const Heard alone = co_await pair.prefill.post("/v1/chat/completions", question + R"(,"max_tokens":20})");
    EXPECT_EQ(content_of(second.body), content_of(alone.body));
    EXPECT_EQ(co_await count(pair.prefill, "rooms_whole"), 1);
    EXPECT_EQ(co_await count(pair.decode, "rooms_whole"), 1);
    EXPECT_EQ(co_await count(pair.prefill, "leases_opened"), 0);
    co_await expect_empty(pair);
  });
}

TEST(Bootstrap, TheDecodeLegMayComeFirst) {
  tell_pair(with_role(Role::prefill), with_role(Role::decode), [](Pair& pair) -> Task<void> {
    http::ClientExchange second(pair.decode.fiber(), pair.decode.to());
    co_await open_leg(pair.decode, second, leg(pair, 0, true));
    double met = 0;
    while (met == 0) met = co_await count(pair.prefill, "rooms_open");
    EXPECT_EQ(co_await pair.decode.state("waiting"), 1);
    EXPECT_GT(co_await pair.decode.state("used_blocks"), 0);
    EXPECT_EQ((co_await pair.prefill.post("/v1/chat/completions", leg(pair, 0, false))).code, 200);
    EXPECT_TRUE((co_await rest_of(second)).ends_with("data: [DONE]\n\n"));
    EXPECT_EQ(co_await count(pair.decode, "rooms_whole"), 1);
    co_await expect_empty(pair);
  });
}

TEST(Bootstrap, ALegWhoseClientGoesFailsTheOther) {
  for (const bool prefill_goes : {true, false}) {
    tell_pair(with_role(Role::prefill), with_role(Role::decode),
              prefill_goes ? [](Pair& pair) -> Task<void> {
      (void)co_await pair.prefill.post("/emulator/faults", R"({"stall":true})");
      http::ClientExchange second(pair.decode.fiber(), pair.decode.to());
      co_await open_leg(pair.decode, second, leg(pair, 7, true));
      http::ClientExchange first(pair.prefill.fiber(), pair.prefill.to());
      co_await open_leg(pair.prefill, first, leg(pair, 7, true));
      co_await pair.prefill.until_state("running", 1);
      first.close();
      EXPECT_TRUE((co_await rest_of(second)).starts_with(lost));
      EXPECT_EQ(co_await count(pair.decode, "rooms_failed"), 1);
      EXPECT_EQ(co_await count(pair.prefill, "rooms_failed"), 1);
      co_await expect_empty(pair);
    } : [](Pair& pair) -> Task<void> {
      (void)co_await pair.prefill.post("/emulator/faults", R"({"stall":true})");
      http::ClientExchange first(pair.prefill.fiber(), pair.prefill.to());
      co_await open_leg(pair.prefill, first, leg(pair, 7, true));
      http::ClientExchange second(pair.decode.fiber(), pair.decode.to());
      co_await open_leg(pair.decode, second, leg(pair, 7, true));
      co_await pair.prefill.until_state("running", 1);
      second.close();
      EXPECT_TRUE((co_await rest_of(first)).starts_with(lost));
      co_await pair.decode.until_state("aborted", 1);
      co_await expect_empty(pair);
    });
  }
}

TEST(Bootstrap, ADecodeLegBehindAFailedPrefillLegFailsAtOnce) {
  tell_pair(with_role(Role::prefill), with_role(Role::decode), [](Pair& pair) -> Task<void> {
    http::ClientExchange first(pair.prefill.fiber(), pair.prefill.to());
    co_await open_leg(pair.prefill, first, leg(pair, 9, true));
    first.close();
    co_await pair.prefill.until_state("aborted", 1);
    EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", leg(pair, 9, false))).code, 500);
    co_await expect_empty(pair);
  });
}

TEST(Bootstrap, ALegThatWaitsInVainFails) {
  auto prefill = with_role(Role::prefill);
  auto decode = with_role(Role::decode);
  prefill.kv->bootstrap_timeout = std::chrono::seconds(5);
  decode.kv->bootstrap_timeout = std::chrono::seconds(5);
  tell_pair(prefill, decode, [](Pair& pair) -> Task<void> {
    EXPECT_EQ((co_await pair.prefill.post("/v1/chat/completions", leg(pair, 1, false))).code, 500);
    EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", leg(pair, 2, false))).code, 500);
    EXPECT_EQ(co_await count(pair.prefill, "rooms_failed"), 1);
    EXPECT_EQ(co_await count(pair.decode, "rooms_failed"), 1);
    EXPECT_EQ(co_await pair.decode.state("used_blocks"), 0);
  });
}

TEST(Bootstrap, ARoomIsForOneRequest) {
  tell_pair(with_role(Role::prefill), with_role(Role::both), [](Pair& pair) -> Task<void> {
    http::ClientExchange first(pair.prefill.fiber(), pair.prefill.to());
    co_await open_leg(pair.prefill, first, leg(pair, 3, true));
    EXPECT_EQ((co_await pair.prefill.post("/v1/chat/completions", leg(pair, 3, false))).code, 500);
    EXPECT_EQ(co_await count(pair.prefill, "room_clashes"), 1);
    EXPECT_EQ(co_await count(pair.prefill, "rooms_open"), 1);
    EXPECT_EQ((co_await pair.decode.post("/v1/chat/completions", leg(pair, 4, false))).code, 500);
    const Heard list = co_await pair.prefill.post("/v1/chat/completions", question + R"(,"bootstrap_room":[1,2]})");
    EXPECT_EQ(list.code, 400);
    EXPECT_NE(list.body.find("bootstrap_room"), std::string::npos);
  });
}

}  // namespace
}  // namespace evenkeel::emulator
