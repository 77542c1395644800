#include <gtest/gtest.h>

#include "engines/adapter.hpp"
#include "engines/wire_support.hpp"

namespace evenkeel::engines {
namespace {

Report read(Kind kind, const std::vector<std::string>& bodies) { return adapter(kind).read(bodies).whole; }

TEST(Sglang, SumsTheRanksOfLoads) {
  const Report report = read(Kind::sglang, {wire("sglang/loads.json"), ""});
  EXPECT_EQ(report.running, 19);
  EXPECT_EQ(report.waiting, 3);
  EXPECT_EQ(report.kv_used, Tokens(102400));
  EXPECT_EQ(report.kv_capacity, Tokens(800000));
  EXPECT_EQ(report.slots, 128);
  EXPECT_EQ(report.preemptions_total, std::nullopt);
}

TEST(Sglang, MetricsCountEachRankOnceAndNotThePartsOfATotal) {
  const Report report = read(Kind::sglang, {"", wire("sglang/metrics_ranks.txt")});
  EXPECT_EQ(report.running, 16) << "tensor-parallel copies and priorities counted";
  EXPECT_EQ(report.waiting, 3);
  EXPECT_EQ(report.kv_used, Tokens(102000));
  EXPECT_EQ(report.kv_capacity, Tokens(790000));
  EXPECT_EQ(report.preemptions_total, 23);
  EXPECT_EQ(report.slots, std::nullopt);
}

TEST(Sglang, LoadsCountBeforeMetricsAndMetricsFillTheRest) {
  const Report both = read(Kind::sglang, {wire("sglang/loads.json"), wire("sglang/metrics_ranks.txt")});
  EXPECT_EQ(both.running, 19);
  EXPECT_EQ(both.preemptions_total, 23);
  const std::string broken = edited(wire("sglang/loads.json"), "\"num_running_reqs\":7", "\"num_running_reqs\":-7");
  EXPECT_EQ(read(Kind::sglang, {broken, ""}).running, std::nullopt);
  EXPECT_EQ(read(Kind::sglang, {broken, wire("sglang/metrics_ranks.txt")}).running, 16);
  EXPECT_EQ(read(Kind::sglang, {broken, ""}).waiting, 3);
}

TEST(Sglang, ReadsPagesWithoutRanks) {
  const Report report = read(Kind::sglang, {"{\"detail\":\"Not Found\"}", wire("sglang/metrics_before.txt")});
  EXPECT_EQ(report.running, 8);
  EXPECT_EQ(report.waiting, 4);
  EXPECT_EQ(report.kv_used, Tokens(123456));
  EXPECT_EQ(report.kv_capacity, std::nullopt);
}

TEST(LlamaCpp, ReadsWhatTheServerAnswered) {
  const Report idle =
      read(Kind::llama_cpp, {wire_body("llama_cpp/slots_idle.http"), wire_body("llama_cpp/metrics_idle.http")});
  EXPECT_EQ(idle.running, 0);
  EXPECT_EQ(idle.waiting, 0);
  EXPECT_EQ(idle.slots, 4);
  EXPECT_EQ(idle.kv_used, Tokens(0));
  const Report busy =
      read(Kind::llama_cpp, {wire_body("llama_cpp/slots_busy.http"), wire_body("llama_cpp/metrics_busy.http")});
  EXPECT_EQ(busy.running, 1);
  EXPECT_EQ(busy.kv_used, Tokens(65)) << "of the slot at work only, an idle one keeps 14 as cache";
  EXPECT_EQ(busy.kv_capacity, std::nullopt) << "several slots may share one buffer";
}

TEST(LlamaCpp, EachPageAloneTellsSomething) {
  const Report slots = read(Kind::llama_cpp, {wire_body("llama_cpp/slots_busy.http"), ""});
  EXPECT_EQ(slots.running, 1);
  EXPECT_EQ(slots.waiting, std::nullopt);
  const Report metrics = read(Kind::llama_cpp, {"", wire_body("llama_cpp/metrics_busy.http")});
  EXPECT_EQ(metrics.running, 1);
  EXPECT_EQ(metrics.slots, std::nullopt);
  const Report one = read(Kind::llama_cpp, {R"([{"id":0,"n_ctx":4096,"is_processing":true,"n_prompt_tokens":100}])"});
  EXPECT_EQ(one.kv_capacity, Tokens(4096));
  EXPECT_FALSE(read(Kind::llama_cpp, {R"({"error":{"code":501}})", "[]"}).any());
}

TEST(LlamaCpp, ReadsTheKvGaugesOfEarlierBuilds) {
  const Report report = read(Kind::llama_cpp, {"", wire("llama_cpp/metrics_kv_gauges.txt")});
  EXPECT_EQ(report.running, 3);
  EXPECT_EQ(report.waiting, 5);
  EXPECT_EQ(report.kv_used, Tokens(2048));
  EXPECT_EQ(report.kv_capacity, Tokens(8192));
}

TEST(Tgi, ReadsItsGaugesAndItsPermits) {
  const Report report = read(Kind::tgi, {wire("tgi/metrics.txt"), wire("tgi/info.json")});
  EXPECT_EQ(report.running, 24);
  EXPECT_EQ(report.waiting, 9);
  EXPECT_EQ(report.kv_used, Tokens(49152));
  EXPECT_EQ(report.kv_capacity, Tokens(65536));
  EXPECT_EQ(report.slots, 128);
  EXPECT_EQ(read(Kind::tgi, {"", wire("tgi/info.json")}).running, std::nullopt);
}

TEST(Kinds, HaveTheLimitsOfTheirServers) {
  using std::chrono::seconds;
  EXPECT_EQ(adapter(Kind::vllm).default_max_in_flight(), 256);
  EXPECT_EQ(adapter(Kind::llama_cpp).default_max_in_flight(), 4);
  EXPECT_EQ(adapter(Kind::tgi).default_max_in_flight(), 128);
  for (const Kind kind : {Kind::vllm, Kind::sglang, Kind::llama_cpp, Kind::openai}) {
    EXPECT_LT(adapter(kind).idle_keep_alive(), seconds(5)) << adapter(kind).name();
  }
  EXPECT_GT(adapter(Kind::tgi).idle_keep_alive(), seconds(5));
}

TEST(Kinds, AreFoundByTheirNamesAndNoOther) {
  ASSERT_EQ(kind_names().size(), 5U);
  for (const auto name : kind_names()) {
    const auto kind = kind_named(name);
    ASSERT_TRUE(kind.has_value()) << name;
    EXPECT_EQ(adapter(*kind).kind(), *kind);
    EXPECT_EQ(adapter(*kind).name(), name);
    EXPECT_TRUE(adapter(*kind).health_path().starts_with('/'));
  }
  EXPECT_EQ(kind_named("auto"), std::nullopt);
  EXPECT_EQ(kind_named(""), std::nullopt);
  EXPECT_EQ(kind_named("VLLM"), std::nullopt);
}

TEST(Kinds, APlainServerTellsNothing) {
  EXPECT_TRUE(adapter(Kind::openai).scrapes().empty());
  EXPECT_FALSE(read(Kind::openai, {wire("vllm/metrics_v0.txt")}).any());
}

}  // namespace
}  // namespace evenkeel::engines
