#include "engines/router_page.hpp"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace evenkeel::engines {
namespace {

std::string lobes_status(const std::string& capacity, const std::string& metrics = R"({"running":1,"waiting":2})") {
  return fmt::format(
      R"({{"object":"lobes.fleet_status","default_model":"org/m","busy":{{"running":1,"waiting":2}},"backends":[)"
      R"({{"name":"primary","task":"generate","served_name":"org/m","health":"ok","metrics":{}{}}},)"
      R"({{"name":"embed","task":"embed","served_name":"org/e","health":"unreachable","metrics":null}}],)"
      R"("endpoints":["/v1/chat/completions"]}})",
      metrics, capacity.empty() ? "" : ",\"capacity\":" + capacity);
}

const std::string capabilities =
    R"({"object":"lobes.capabilities","roles":{"cortex":{"role":"cortex","model":"org/m","context":262144,"ready":true,)"
    R"("fingerprint":{"served_id":"org/m","max_model_len":262144,"runtime":"llama.cpp","quantization":"nvfp4",)"
    R"("kv_cache_dtype":"fp8","reasoning_parser":"qwen3","tool_parser":"unknown","speculative_config":null}},)"
    R"("embedder":{"model":"org/e","context":8192}}})";

TEST(LobesPage, IsReadAsItsGatewaysWriteIt) {
  auto page = read_router_status(lobes_status("2.0"));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_FALSE(page->evenkeel);
  ASSERT_EQ(page->models.size(), 2U);
  EXPECT_EQ(page->models[0].backend, "primary");
  EXPECT_EQ(page->models[0].served, "org/m");
  EXPECT_TRUE(page->models[0].status.ready);
  EXPECT_EQ(page->models[0].status.capacity, "2.0");
  EXPECT_EQ(page->models[0].status.running, 1);
  EXPECT_EQ(page->models[0].status.waiting, 2);
  EXPECT_FALSE(page->models[0].status.news);
  EXPECT_FALSE(page->models[1].status.ready);
  EXPECT_FALSE(page->models[1].status.capacity);

  const auto done = read_router_capabilities(capabilities, *page);
  ASSERT_TRUE(done) << done.error().message;
  const peers::Fingerprint& print = page->models[0].status.fingerprint;
  EXPECT_EQ(print.served_id, "org/m");
  EXPECT_EQ(print.max_model_len, 262144);
  EXPECT_EQ(print.runtime, "llamacpp");
  EXPECT_EQ(print.quantization, "nvfp4");
  EXPECT_EQ(print.kv_cache_dtype, "fp8");
  EXPECT_EQ(print.tool_parser, "");
  EXPECT_EQ(page->models[1].status.fingerprint.max_model_len, 8192);
  EXPECT_EQ(page->models[1].status.fingerprint.quantization, "") << "a role's own words are of a catalogue";
}

TEST(LobesPage, CapacitiesAreHandedOnAsTheyStand) {
  for (const auto& [told, read] : {std::pair{"10000", "10000"},
                                   {"0", "0"},
                                   {"-1", "-1"},
                                   {"NaN", "NaN"},
                                   {"\"many\"", "many"},
                                   {"[2]", "[2]"},
                                   {"-Infinity", "-Infinity"},
                                   {"1e400", ""}}) {
    const auto page = read_router_status(lobes_status(told));
    if (std::string_view(read).empty()) {
      EXPECT_FALSE(page) << told;
      continue;
    }
    ASSERT_TRUE(page) << told << ": " << page.error().message;
    EXPECT_EQ(page->models[0].status.capacity, read);
  }
  const auto none = read_router_status(lobes_status("null"));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->models[0].status.capacity);
}

TEST(LobesPage, GaugesThatCannotBeAreNoNumbers) {
  for (const char* metrics : {R"({"running":-1,"waiting":0})", R"({"running":"two","waiting":0})",
                              R"({"running":NaN,"waiting":0})", R"({"running":1e30,"waiting":0})"}) {
    const auto page = read_router_status(lobes_status("2", metrics));
    ASSERT_TRUE(page) << metrics;
    EXPECT_TRUE(std::isnan(page->models[0].status.running)) << metrics;
  }
  const auto none = read_router_status(lobes_status("2", "null"));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->models[0].status.running, 0) << "what tells nothing is not taken for full";
}

TEST(LobesPage, ABusyHostIsShownAsSuch) {
  const std::string rows = R"("backends":[{"served_name":"m","health":"ok"}])";
  for (const auto& [told, busy] : {std::pair{R"("busy":true)", true},
                                   {R"("busy":{"running":2})", false},
                                   {R"("pressure":{"mode":"busy","shed":false})", true},
                                   {R"("pressure":{"mode":"warm","shed":true})", true},
                                   {R"("pressure":{"mode":"warm","shed":false})", false},
                                   {R"("pressure":7)", false}}) {
    const auto page = read_router_status(fmt::format("{{{},{}}}", told, rows));
    ASSERT_TRUE(page) << told;
    EXPECT_EQ(page->models[0].status.busy, busy) << told;
    EXPECT_TRUE(page->models[0].status.ready) << "which keeps nobody away";
  }
}

TEST(LobesPage, NaNInsideATextStaysText) {
  const auto page = read_router_status(
      R"({"backends":[{"name":"a \"NaN\" b","served_name":"NaN, Infinity","health":"ok","capacity":NaN}]})");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->models[0].served, "NaN, Infinity");
  EXPECT_EQ(page->models[0].backend, "a \"NaN\" b");
}

TEST(LobesPage, RubbishIsAnError) {
  for (const char* body : {"", "hello", "[]", "{}", "{\"backends\":7}", "{\"backends\":[", "\xff\xfe"}) {
    EXPECT_FALSE(read_router_status(body)) << body;
  }
  RouterPage page;
  EXPECT_FALSE(read_router_capabilities("{\"roles\":[]}", page));
  EXPECT_FALSE(read_router_capabilities("no", page));
  std::string many = "{\"backends\":[";
  for (int i = 0; i < 300; ++i) many += fmt::format("{}{{\"served_name\":\"m{}\"}}", i == 0 ? "" : ",", i);
  const auto read = read_router_status(many + "]}");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "/status lists 300 models (allowed: 256)");
  const auto odd = read_router_status(R"({"backends":[7,{"served_name":""},{"served_name":"a\u0001b"},{}]})");
  ASSERT_TRUE(odd);
  EXPECT_TRUE(odd->models.empty()) << "rows without a name are passed over";
}

TEST(OwnPage, SaysMore) {
  const auto page = read_router_status(
      R"({"object":"lobes.fleet_status","backends":[],"evenkeel":{"name":"spark","instance":"ab12","models":[)"
      R"({"model":"org/m","backend":"cortex","ready":true,"slots":2,"measured_at_ms":1700000000000,"active":2,)"
      R"("fingerprint":{"served_id":"org/m","max_model_len":4096,"runtime":"vllm","quantization":"fp8"},)"
      R"("rates":[[1,49.24],[2,87.82]],"rates_at_ms":1700000000001,"news":{"epoch":5,"seq":9,"active":2,"yours":1}}]}})");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(page->evenkeel);
  EXPECT_EQ(page->name, "spark");
  EXPECT_EQ(page->instance, "ab12");
  ASSERT_EQ(page->models.size(), 1U);
  const RouterModel& model = page->models[0];
  EXPECT_TRUE(model.status.ready);
  EXPECT_EQ(model.status.capacity, "2");
  EXPECT_EQ(model.status.measured_at, 1700000000000);
  EXPECT_EQ(model.status.fingerprint.quantization, "fp8");
  ASSERT_TRUE(model.status.news);
  EXPECT_EQ(model.status.news->sequence, 9U);
  EXPECT_EQ(model.status.news->yours, 1);
  ASSERT_EQ(model.status.rates.size(), 2U);
  EXPECT_EQ(model.status.rates[1].rate, 87.82);
  EXPECT_EQ(model.status.rates_at, 1700000000001);
}

TEST(OwnPage, NewsAndRatesThatCannotBeAreNotRead) {
  for (const char* rest :
       {R"("news":{"epoch":5,"seq":9,"active":1,"yours":2},"rates":[[1,-3]])",
        R"("news":{"epoch":-5,"seq":9,"active":1,"yours":1},"rates":[[0,3]])",
        R"("news":{"epoch":5,"seq":9,"active":1e9,"yours":1},"rates":[[1,3],[2]])",
        R"("news":{"epoch":5,"seq":9.5,"active":1,"yours":1},"rates":[[1,1e300]])", R"("news":7,"rates":"fast")"}) {
    const auto page =
        read_router_status(fmt::format(R"({{"evenkeel":{{"models":[{{"model":"m","ready":"yes",{}}}]}}}})", rest));
    ASSERT_TRUE(page) << rest;
    ASSERT_EQ(page->models.size(), 1U);
    EXPECT_FALSE(page->models[0].status.news) << rest;
    EXPECT_TRUE(page->models[0].status.rates.empty()) << rest;
    EXPECT_FALSE(page->models[0].status.ready);
  }
}

}  // namespace
}  // namespace evenkeel::engines
