#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engines/adapter.hpp"
#include "engines/errors.hpp"
#include "engines/wire_support.hpp"

namespace evenkeel::engines {
namespace {

using Bodies = std::vector<std::string>;

std::vector<RankReport> ranks_of(Kind kind, const Bodies& bodies) { return adapter(kind).read(bodies).ranks; }

std::vector<std::uint32_t> numbers_of(Kind kind, const Bodies& bodies) {
  std::vector<std::uint32_t> numbers;
  for (const auto& rank : ranks_of(kind, bodies)) numbers.push_back(rank.number);
  return numbers;
}

TEST(VllmRanks, EachIsReadByItsLabel) {
  const auto ranks = ranks_of(Kind::vllm, {wire("vllm/metrics_two_ranks.txt")});
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].number, 0U);
  EXPECT_EQ(ranks[0].report.running, 17);
  EXPECT_EQ(ranks[0].report.waiting, 4);
  EXPECT_EQ(ranks[0].report.kv_capacity, Tokens(25000 * 16));
  EXPECT_EQ(ranks[0].report.kv_used, Tokens(25000 * 16 / 2));
  EXPECT_EQ(ranks[0].report.preemptions_total, 6);
  EXPECT_EQ(ranks[1].number, 1U);
  EXPECT_EQ(ranks[1].report.running, 5);
  EXPECT_EQ(ranks[1].report.waiting, 0);
  EXPECT_EQ(ranks[1].report.kv_capacity, Tokens(12500 * 16));
  EXPECT_EQ(ranks[1].report.kv_used, Tokens(12500 * 16 / 8));
  EXPECT_EQ(ranks[1].report.preemptions_total, 1);
}

TEST(VllmRanks, AreOrderedByNumberNotByText) {
  std::string page;
  for (const int rank : {10, 2, 9, 0, 1, 3, 4, 5, 6, 7, 8, 11}) {
    page += fmt::format("vllm:num_requests_running{{engine=\"{}\"}} {}\n", rank, 100 + rank);
  }
  const auto ranks = ranks_of(Kind::vllm, {page});
  ASSERT_EQ(ranks.size(), 12U);
  for (std::uint32_t rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(ranks[rank].number, rank);
    EXPECT_EQ(ranks[rank].report.running, 100 + rank);
    EXPECT_EQ(ranks[rank].report.waiting, std::nullopt);
  }
}

TEST(VllmRanks, AnEngineWithoutThemHasOneOrNone) {
  EXPECT_EQ(numbers_of(Kind::vllm, {wire("vllm/metrics.txt")}), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(numbers_of(Kind::vllm, {wire("vllm/metrics_v0.txt")}).empty());
  EXPECT_TRUE(numbers_of(Kind::vllm, {""}).empty());
  EXPECT_TRUE(numbers_of(Kind::vllm, {}).empty());
}

TEST(VllmRanks, LabelsThatCannotBeNumbersMakeNoRanks) {
  const auto page = [](const std::string& first, const std::string& second) {
    return Bodies{fmt::format(
        "vllm:num_requests_running{{engine=\"{}\"}} 1\nvllm:num_requests_running{{engine=\"{}\"}} 2\n", first, second)};
  };
  EXPECT_EQ(numbers_of(Kind::vllm, page("4", "5")), (std::vector<std::uint32_t>{4, 5})) << "of a larger group";
  EXPECT_TRUE(numbers_of(Kind::vllm, page("0", "a")).empty());
  EXPECT_TRUE(numbers_of(Kind::vllm, page("0", "")).empty());
  EXPECT_TRUE(numbers_of(Kind::vllm, page("1", "01")).empty()) << "twice the same";
  EXPECT_TRUE(numbers_of(Kind::vllm, page("0", "4294967296")).empty());
  std::string crowd;
  for (std::size_t rank = 0; rank <= max_ranks; ++rank)
    crowd += fmt::format("vllm:num_requests_running{{engine=\"{}\"}} 1\n", rank);
  EXPECT_TRUE(numbers_of(Kind::vllm, {crowd}).empty());
}

TEST(SglangRanks, LoadsAreMatchedByTheRankTheyNameAndMetricsFillTheRest) {
  const auto ranks = ranks_of(Kind::sglang, {wire("sglang/loads.json"), wire("sglang/metrics_ranks.txt")});
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].report.running, 12);
  EXPECT_EQ(ranks[0].report.waiting, 3);
  EXPECT_EQ(ranks[0].report.kv_used, Tokens(81920));
  EXPECT_EQ(ranks[0].report.kv_capacity, Tokens(400000));
  EXPECT_EQ(ranks[0].report.slots, 64);
  EXPECT_EQ(ranks[0].report.preemptions_total, 21);
  EXPECT_EQ(ranks[1].report.running, 7);
  EXPECT_EQ(ranks[1].report.preemptions_total, 2);
  // The same list with its entries exchanged says the same.
  std::string swapped = edited(wire("sglang/loads.json"), "\"dp_rank\":0", "\"dp_rank\":9");
  swapped = edited(edited(swapped, "\"dp_rank\":1", "\"dp_rank\":0"), "\"dp_rank\":9", "\"dp_rank\":1");
  const auto exchanged = ranks_of(Kind::sglang, {swapped, ""});
  ASSERT_EQ(exchanged.size(), 2U);
  EXPECT_EQ(exchanged[0].report.running, 7);
  EXPECT_EQ(exchanged[1].report.running, 12);
}

TEST(SglangRanks, MetricsAloneDo) {
  const auto ranks = ranks_of(Kind::sglang, {"", wire("sglang/metrics_ranks.txt")});
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].report.running, 10);
  EXPECT_EQ(ranks[1].report.running, 6);
  EXPECT_EQ(ranks[1].report.kv_capacity, Tokens(390000));
  EXPECT_TRUE(ranks_of(Kind::sglang, {"", wire("sglang/metrics_before.txt")}).empty());
}

TEST(SglangRanks, LoadsThatNameNoRankOrOneTwiceAreNotGuessedAt) {
  const std::string loads = wire("sglang/loads.json");
  EXPECT_TRUE(ranks_of(Kind::sglang, {edited(loads, "\"dp_rank\":1,", ""), ""}).empty());
  EXPECT_TRUE(ranks_of(Kind::sglang, {edited(loads, "\"dp_rank\":1,", "\"dp_rank\":0,"), ""}).empty());
  EXPECT_TRUE(ranks_of(Kind::sglang, {edited(loads, "\"dp_rank\":1,", "\"dp_rank\":0.5,"), ""}).empty());
}

TEST(OtherKinds, HaveNone) {
  EXPECT_TRUE(ranks_of(Kind::tgi, {wire("tgi/metrics.txt"), wire("tgi/info.json")}).empty());
  EXPECT_TRUE(ranks_of(Kind::openai, {}).empty());
  for (const Kind kind : {Kind::tgi, Kind::llama_cpp, Kind::openai}) EXPECT_EQ(adapter(kind).rank_field(), "");
  for (const Kind kind : {Kind::vllm, Kind::sglang}) EXPECT_NE(adapter(kind).rank_field(), "");
}

TEST(RefusedRanks, AreKnownByTheBeginningOfTheMessage) {
  EXPECT_TRUE(refuses_rank(R"x({"error":{"message":"data_parallel_rank 9 is out of range [0, 8).","type":)x"
                           R"x("BadRequestError","param":null,"code":400}})x"));
  EXPECT_TRUE(refuses_rank(R"x({"object":"error","message":"routed_dp_rank=9 out of range [0, 8)","code":400,)x"
                           R"x("error":null})x"));
  EXPECT_FALSE(refuses_rank(R"({"error":{"message":"1 validation error: input 'data_parallel_rank 9 is out of range'",)"
                            R"("code":400}})"))
      << "a client's own words";
  EXPECT_FALSE(refuses_rank(R"({"error":{"message":"the prompt is too long","code":400}})"));
  EXPECT_FALSE(refuses_rank("data_parallel_rank 9 is out of range"));
  EXPECT_FALSE(refuses_rank(""));
}

}  // namespace
}  // namespace evenkeel::engines
