// Data-parallel ranks behind an emulated engine, over real sockets.
#include <array>

#include "emulator/support/rig.hpp"

namespace evenkeel::emulator {
namespace {

using http::Task;

/// Four ranks of decode steps, 10 ms + 1 us a KV token; prompts bring their KV.
EmulatorOptions four_ranks() {
  auto options = quick_options();
  options.engine = {};
  options.engine.law = engine::StepLaw{.fixed_ms = 10, .kv_token_ms = 1e-3, .prompt_kv_given = true};
  options.engine.slots = 8;
  options.engine.ranks = 4;
  return options;
}

/// A completion of a prompt of so many tokens.
std::string completion(int prompt, bool stream = false) {
  std::string body = R"({"prompt":[)";
  for (int i = 0; i < prompt; ++i) body += i == 0 ? "1" : ",1";
  return body + R"(],"max_tokens":1000)" + (stream ? R"(,"stream":true})" : "}");
}

http::Fields fields(int output, const std::string& rank = {}) {
  http::Fields fields;
  fields.emplace_back("X-Emulate-Output-Tokens", std::to_string(output));
  if (!rank.empty()) fields.emplace_back("X-data-parallel-rank", rank);
  return fields;
}

double number_at(const std::string& body, const std::string& pointer) {
  simdjson::dom::parser parser;
  double value = -1;
  EXPECT_EQ(parser.parse(body).at_pointer(pointer).get(value), simdjson::SUCCESS) << pointer << " in " << body;
  return value;
}

Task<std::array<int, 4>> received_by_rank(Talker& talker) {
  const Heard state = co_await talker.get("/emulator/state");
  std::array<int, 4> received{};
  for (std::size_t rank = 0; rank < 4; ++rank) {
    received[rank] = static_cast<int>(number_at(state.body, "/ranks/" + std::to_string(rank) + "/received"));
  }
  co_return received;
}

TEST(Ranks, TheHeaderPicksTheRankAndTheMetricsSaySo) {
  tell(four_ranks(), [](Talker& talker) -> Task<void> {
    EXPECT_EQ((co_await talker.post("/v1/completions", completion(3), fields(7, "2"))).code, 200);
    EXPECT_EQ((co_await talker.post("/v1/completions", completion(4), fields(5, "3"))).code, 200);
    EXPECT_EQ((co_await talker.post("/v1/completions", completion(5), fields(4, "3"))).code, 200);
    EXPECT_EQ(co_await received_by_rank(talker), (std::array<int, 4>{0, 0, 1, 2}));
    const Heard metrics = co_await talker.get("/metrics");
    for (const auto* line : {R"(vllm:generation_tokens_total{engine="0",model_name="m"} 0.0)",
                             R"(vllm:generation_tokens_total{engine="2",model_name="m"} 7.0)",
                             R"(vllm:generation_tokens_total{engine="3",model_name="m"} 9.0)",
                             R"(vllm:prompt_tokens_total{engine="3",model_name="m"} 9.0)",
                             R"(vllm:time_to_first_token_seconds_count{engine="2",model_name="m"} 1.0)",
                             R"(vllm:time_to_first_token_seconds_count{engine="3",model_name="m"} 2.0)"}) {
      EXPECT_EQ(count_of(metrics.body, std::string("\n") + line + "\n"), 1U) << line;
    }
    for (const auto* series : {"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc",
                               "num_preemptions_total", "cache_config_info"}) {
      const std::string line = std::string("\nvllm:") + series + "{";
      EXPECT_EQ(count_of(metrics.body, line), 4U) << series;
    }
  });
}

TEST(Ranks, ARankOutOfRangeIsAnErrorAndWhatIsNoNumberIsIgnored) {
  tell(four_ranks(), [](Talker& talker) -> Task<void> {
    const Heard plain = co_await talker.post("/v1/completions", completion(3), fields(5, "4"));
    EXPECT_EQ(plain.code, 400);
    EXPECT_EQ(plain.body,
              R"({"error":{"message":"data_parallel_rank 4 is out of range [0, 4).","type":"BadRequestError",)"
              R"("param":null,"code":400}})");
    const Heard stream = co_await talker.post("/v1/completions", completion(3, true), fields(5, "-1"));
    EXPECT_EQ(stream.code, 200);  // found only once the answer has begun
    EXPECT_TRUE(stream.body.starts_with(R"(data: {"error":{"message":"data_parallel_rank -1 is out of range)"));
    EXPECT_TRUE(stream.body.ends_with("\n\ndata: [DONE]\n\n"));
    EXPECT_EQ(co_await received_by_rank(talker), (std::array<int, 4>{}));
    EXPECT_EQ((co_await talker.post("/v1/completions", completion(3), fields(5, "two"))).code, 200);
  });
}

TEST(Ranks, WithoutTheHeaderTheEngineBalances) {
  tell(four_ranks(), [](Talker& talker) -> Task<void> {
    (void)co_await talker.post("/emulator/faults", R"({"stall":true})");
    std::vector<std::unique_ptr<http::ClientExchange>> open;
    const auto send = [&](http::Fields with) -> Task<http::ClientStatus> {
      open.push_back(std::make_unique<http::ClientExchange>(talker.fiber(), talker.to()));
      return talker.open(*open.back(), "POST", "/v1/completions", completion(3, true), std::move(with));
    };
    // What is known of rank 1 by header counts as its own in flight: the others fill up first.
    for (int i = 0; i < 2; ++i) EXPECT_EQ(co_await send(fields(5, "1")), http::ClientStatus::ok);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(co_await send(fields(5)), http::ClientStatus::ok);
    EXPECT_EQ(co_await received_by_rank(talker), (std::array<int, 4>{2, 2, 2, 2}));
  });
}

TEST(Ranks, RoundRobinDoesNotLook) {
  auto options = four_ranks();
  options.balancing = RankBalancing::round_robin;
  tell(options, [](Talker& talker) -> Task<void> {
    for (int i = 0; i < 3; ++i) (void)co_await talker.post("/v1/completions", completion(3), fields(5, "1"));
    for (int i = 0; i < 5; ++i) (void)co_await talker.post("/v1/completions", completion(3), fields(5));
    EXPECT_EQ(co_await received_by_rank(talker), (std::array<int, 4>{2, 4, 1, 1}));
  });
}

TEST(Ranks, AnEngineCanBeToldToIgnoreTheHeader) {
  auto options = four_ranks();
  options.balancing = RankBalancing::round_robin;
  options.faults.ignore_rank_header = true;
  tell(options, [](Talker& talker) -> Task<void> {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ((co_await talker.post("/v1/completions", completion(3), fields(5, i == 0 ? "9" : "3"))).code, 200);
    }
    EXPECT_EQ(co_await received_by_rank(talker), (std::array<int, 4>{1, 1, 1, 1}));
    (void)co_await talker.post("/emulator/faults", R"({"ignore_rank_header":false})");
    (void)co_await talker.post("/v1/completions", completion(3), fields(5, "3"));
    EXPECT_EQ(co_await received_by_rank(talker), (std::array<int, 4>{1, 1, 1, 2}));
  });
}

TEST(Ranks, AllStepTogetherUnlessTheyAreToldNotTo) {
  for (const bool sync : {true, false}) {
    auto options = four_ranks();
    options.sync = sync;
    options.engine.pause_check_steps = 1;
    tell(options, sync ? [](Talker& talker) -> Task<void> {
      (void)co_await talker.post("/v1/completions", completion(3), fields(50, "1"));
      const Heard state = co_await talker.get("/emulator/state");
      for (const auto* rank : {"0", "1", "2", "3"}) {
        EXPECT_EQ(number_at(state.body, std::string("/ranks/") + rank + "/steps"), 50);
      }
    } : [](Talker& talker) -> Task<void> {
      (void)co_await talker.post("/v1/completions", completion(3), fields(50, "1"));
      const Heard state = co_await talker.get("/emulator/state");
      for (const auto* rank : {"0", "1", "2", "3"}) {
        EXPECT_EQ(number_at(state.body, std::string("/ranks/") + rank + "/steps"), *rank == '1' ? 50 : 0);
      }
    });
  }
}

// The engine stands still until all have come. The first starts alone, as a request that reaches an idle engine does;
// the others take part from the next step on.
TEST(Ranks, WhatIsMeasuredFollowsFromTheRequestsAlone) {
  auto options = four_ranks();
  options.engine.pause_check_steps = 1;
  tell(options, [](Talker& talker) -> Task<void> {
    struct Load {
      int rank, prompt, output, first_step;
    };
    constexpr std::array<Load, 5> loads = {
        {{0, 40, 30, 1}, {1, 700, 9, 2}, {1, 5, 44, 2}, {3, 300, 21, 2}, {0, 1, 8, 2}}};
    (void)co_await talker.post("/v1/completions", completion(100), fields(3));  // before what is measured
    (void)co_await talker.post("/emulator/faults", R"({"stall":true})");
    (void)co_await talker.post("/emulator/measure", "");
    std::vector<std::unique_ptr<http::ClientExchange>> open;
    for (const Load& load : loads) {
      open.push_back(std::make_unique<http::ClientExchange>(talker.fiber(), talker.to()));
      EXPECT_EQ(co_await talker.open(*open.back(), "POST", "/v1/completions", completion(load.prompt, true),
                                     fields(load.output, std::to_string(load.rank))),
                http::ClientStatus::ok);
    }
    (void)co_await talker.ask("DELETE", "/emulator/faults");
    co_await talker.until_state("completed", 6);
    const Heard state = co_await talker.get("/emulator/state");
    double imbalance = 0;
    double clock_ms = 0;
    int tokens = 0;
    constexpr int steps = 45;
    for (int k = 1; k <= steps; ++k) {
      std::array<double, 4> held{};
      for (const Load& load : loads) {
        const int age = k - load.first_step;
        if (age < 0 || age >= load.output) continue;
        held[static_cast<std::size_t>(load.rank)] += load.prompt + age;
        ++tokens;
      }
      const double largest = *std::ranges::max_element(held);
      for (const double load : held) imbalance += largest - load;
      clock_ms += 10 + 1e-3 * largest;
    }
    EXPECT_EQ(number_at(state.body, "/measured/steps"), steps);
    EXPECT_EQ(number_at(state.body, "/measured/tokens"), tokens);
    EXPECT_EQ(number_at(state.body, "/measured/requests"), 5);
    EXPECT_NEAR(number_at(state.body, "/measured/mean_imbalance"), imbalance / steps, 1e-6);
    EXPECT_NEAR(number_at(state.body, "/measured/step_ms"), clock_ms / steps, 1e-5);
    EXPECT_NEAR(number_at(state.body, "/measured/throughput"), tokens / clock_ms * 1e3, 1e-3);
    const Heard ended = co_await talker.post("/emulator/measure", "");
    EXPECT_EQ(number_at(ended.body, "/steps"), steps);
    EXPECT_EQ(number_at((co_await talker.get("/emulator/state")).body, "/measured/steps"), 0);
  });
}

TEST(RankPorts, EachPortServesItsRankAndTheyShareTheirSteps) {
  auto options = four_ranks();
  options.rank_ports = true;
  options.replicas = 2;
  http::EventLoop loop;
  auto fleet = Emulator::open(loop, options);
  ASSERT_TRUE(fleet.has_value());
  const auto served = fleet->served();
  ASSERT_EQ(served.size(), 8U);
  EXPECT_EQ(served[6].replica, 1U);
  EXPECT_EQ(served[6].rank, 2U);
  loop.spawn(
      [](http::Fiber& fiber, http::Address second, http::Address third) -> Task<void> {
        Talker talker(fiber, third);
        EXPECT_EQ((co_await talker.post("/v1/completions", completion(3), fields(6))).code, 200);
        EXPECT_EQ((co_await talker.post("/v1/completions", completion(3), fields(6, "0"))).code, 200);
        EXPECT_EQ((co_await talker.post("/v1/completions", completion(3), fields(6, "2"))).code, 400);
        Talker neighbour(fiber, second);
        EXPECT_EQ(co_await received_by_rank(neighbour), (std::array<int, 4>{0, 0, 2, 0}));
        EXPECT_EQ(co_await neighbour.state("received"), 0);
        EXPECT_EQ(co_await talker.state("received"), 2);
        const Heard state = co_await neighbour.get("/emulator/state");
        EXPECT_EQ(number_at(state.body, "/ranks/1/steps"), number_at(state.body, "/ranks/2/steps"));
        const Heard metrics = co_await talker.get("/metrics");
        EXPECT_EQ(count_of(metrics.body, R"(vllm:generation_tokens_total{engine="2",model_name="m"} 12.0)"), 1U);
        EXPECT_EQ(count_of(metrics.body, "engine="), count_of(metrics.body, R"(engine="2")"));
        EXPECT_EQ(count_of((co_await neighbour.get("/metrics")).body, R"(generation_tokens_total{engine="1",)"), 1U);
        fiber.loop().stop();
      },
      *http::resolve("127.0.0.1", served[1].port), *http::resolve("127.0.0.1", served[2].port));
  loop.run();
}

}  // namespace
}  // namespace evenkeel::emulator
