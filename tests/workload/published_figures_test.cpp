// Every reader against what the publishers of the traces, or an independent count, say of the same rows.
#include <cmath>
#include <map>
#include <set>

#include "trace_support.hpp"

namespace evenkeel::workload {
namespace {

TEST(PublishedFigures, Azure2023Conversation) {
  const Trace trace = must_read(spec_of("azure-2023-conv.csv.gz"));
  EXPECT_EQ(trace.format, "azure");
  ASSERT_EQ(trace.requests.size(), 16'495U);
  EXPECT_NEAR(last_arrival_s(trace), 2800.975182, 1e-9);  // 19:02:27.6557720 - 18:15:46.6805900
  const auto [prompt, output] = lengths_of(trace);
  EXPECT_NEAR(prompt.mean, 1182.9, 0.05);
  EXPECT_EQ(prompt.p50, 1014);
  EXPECT_NEAR(prompt.p95, 4085, 0.5);
  EXPECT_NEAR(prompt.p99, 4143, 0.5);
  EXPECT_EQ(prompt.max, 14'050);
  EXPECT_NEAR(output.mean, 200.9, 0.05);
  EXPECT_EQ(output.p50, 116);
  EXPECT_NEAR(output.p95, 447, 0.5);
  EXPECT_EQ(output.max, 1000);
  EXPECT_NEAR(gap_cv(trace), 1.07, 0.005);
}

TEST(PublishedFigures, Azure2023Code) {
  const Trace trace = must_read(spec_of("azure-2023-code.csv.gz"));
  ASSERT_EQ(trace.requests.size(), 8819U);
  const auto [prompt, output] = lengths_of(trace);
  EXPECT_NEAR(prompt.mean, 2047.8, 0.05);
  EXPECT_EQ(prompt.p50, 1469);
  EXPECT_EQ(output.p50, 13);
  EXPECT_NEAR(output.p99, 251.5, 0.5);
  EXPECT_NEAR(gap_cv(trace), 13.2, 0.05);
  EXPECT_NEAR(last_arrival_s(trace), 3435.948056, 1e-9);
}

TEST(PublishedFigures, Azure2024RowsWithAndWithoutDecimals) {
  const Trace conversation = must_read(spec_of("azure-2024-conv-rows.csv"));
  ASSERT_EQ(conversation.requests.size(), 10U);
  EXPECT_EQ(conversation.requests[0].prompt_tokens, Tokens(1452));
  EXPECT_EQ(conversation.requests[1].arrival, std::chrono::microseconds(40'520));
  EXPECT_EQ(conversation.requests[9].output_tokens, Tokens(366));
  EXPECT_NEAR(last_arrival_s(conversation), 7 * 86'400 - 0.004540 - 0.001163, 1e-6);
  EXPECT_EQ(must_read(spec_of("azure-2024-code-rows.csv")).requests.size(), 10U);
  const TemporaryFile whole(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00+00:00,5,6\n"
      "2024-05-12 02:00:01+02:00,7,8");
  const Trace bare = must_read(whole.spec());
  ASSERT_EQ(bare.requests.size(), 2U);
  EXPECT_EQ(bare.requests[1].arrival, std::chrono::seconds(1));
}

TEST(PublishedFigures, MooncakeConversationIsSpreadInsideItsGrid) {
  const Trace trace = must_read(spec_of("mooncake-conversation.jsonl.gz"));
  EXPECT_EQ(trace.format, "mooncake");
  ASSERT_EQ(trace.requests.size(), 9408U);
  const auto [prompt, output] = lengths_of(trace);
  EXPECT_NEAR(prompt.mean, 12'161.5, 0.05);
  EXPECT_EQ(prompt.p50, 7098);
  EXPECT_NEAR(output.p95, 711.6, 0.5);
  EXPECT_NEAR(gap_cv(trace), 1.02, 0.03);  // 3.0 on the raw grid, 0.35 at equal distances
  std::size_t blocks = 0;
  std::size_t seen_before = 0;
  std::set<std::uint64_t> seen;
  for (const auto& r : trace.requests) {
    const auto ids = trace.prefix_blocks(r);
    blocks += ids.size();
    EXPECT_EQ(ids.front(), 0U);
    EXPECT_EQ(r.prefix_block_size, 512U);
    for (const auto id : ids) seen_before += seen.insert(id).second ? 0 : 1;
  }
  EXPECT_EQ(blocks, 227'912U);
  EXPECT_NEAR(static_cast<double>(seen_before) / static_cast<double>(blocks), 0.355, 0.0005);
  ASSERT_EQ(trace.notes.size(), 1U);
}

TEST(PublishedFigures, MooncakeSyntheticKeepsItsMilliseconds) {
  const Trace trace = must_read(spec_of("mooncake-synthetic.jsonl.gz"));
  ASSERT_EQ(trace.requests.size(), 3993U);
  const auto [prompt, output] = lengths_of(trace);
  EXPECT_NEAR(prompt.mean, 15'325.5, 0.05);
  EXPECT_NEAR(output.mean, 149.1, 0.05);
  EXPECT_NEAR(gap_cv(trace), 1.01, 0.005);
  EXPECT_TRUE(trace.notes.empty());
}

TEST(PublishedFigures, ServegenDrawnHour) {
  const Trace trace = must_read(spec_of("servegen-hour.csv.gz"));
  EXPECT_EQ(trace.format, "servegen-drawn");
  ASSERT_EQ(trace.requests.size(), 47'707U);
  const auto [prompt, output] = lengths_of(trace);
  EXPECT_NEAR(prompt.mean, 1087, 0.5);
  EXPECT_EQ(prompt.p50, 119);
  EXPECT_NEAR(output.mean, 2965, 0.5);
  EXPECT_EQ(output.p50, 1987);
  EXPECT_NEAR(gap_cv(trace), 1.65, 0.005);
}

TEST(PublishedFigures, ServegenTablesGiveWhatTheTablesSay) {
  // Sums over the tables: 46,710 requests expected; prompt 1,086.6 on average and 120 in the middle, output
  // 2,967.6 and 1,984; client 35 has 23,980 requests. Some clients are very bursty, so one hour strays by
  // some percent.
  constexpr int draws = 8;
  double requests = 0;
  double of_largest = 0;
  Lengths sum;
  for (std::uint64_t seed = 1; seed <= draws; ++seed) {
    auto spec = spec_of("servegen-tables");
    spec.seed = seed;
    const Trace trace = must_read(spec);
    EXPECT_EQ(trace.format, "servegen-tables");
    EXPECT_LT(last_arrival_s(trace), 3600);
    requests += static_cast<double>(trace.requests.size()) / draws;
    for (const auto& r : trace.requests) of_largest += trace.name(r.client) == "35" ? 1.0 / draws : 0;
    const auto [prompt, output] = lengths_of(trace);
    sum.prompt.mean += prompt.mean / draws;
    sum.prompt.p50 += prompt.p50 / draws;
    sum.output.mean += output.mean / draws;
    sum.output.p50 += output.p50 / draws;
  }
  EXPECT_NEAR(requests, 46'710, 0.02 * 46'710);
  EXPECT_NEAR(of_largest, 23'980, 0.02 * 23'980);
  EXPECT_NEAR(sum.prompt.mean, 1086.6, 0.03 * 1086.6);
  EXPECT_NEAR(sum.prompt.p50, 120, 4);
  EXPECT_NEAR(sum.output.mean, 2967.6, 0.03 * 2967.6);
  EXPECT_NEAR(sum.output.p50, 1984, 0.03 * 1984);
}

TEST(PublishedFigures, LengthTables) {
  const Trace story = must_read(spec_of("lengths-story.csv"));
  EXPECT_EQ(story.format, "lengths");
  ASSERT_EQ(story.requests.size(), 512U);
  EXPECT_NEAR(lengths_of(story).output.mean, 1144, 0.5);
  EXPECT_NEAR(gap_cv(story), 0.96, 0.005);
  const Trace sharegpt = must_read(spec_of("lengths-sharegpt.csv"));
  ASSERT_EQ(sharegpt.requests.size(), 300U);
  EXPECT_NEAR(lengths_of(sharegpt).prompt.p95, 1749, 0.5);
  EXPECT_EQ(must_read(spec_of("lengths-lmsys.csv")).requests.size(), 1024U);

  auto arxiv = spec_of("lengths-arxiv.csv.gz");
  EXPECT_NE(refusal(arxiv).find("a rate (requests a second) is wanted"), std::string::npos);
  arxiv.rate = 20;
  const Trace drawn = must_read(arxiv);
  ASSERT_EQ(drawn.requests.size(), 28'257U);
  EXPECT_NEAR(lengths_of(drawn).prompt.mean, 2588, 0.5);
  EXPECT_NEAR(last_arrival_s(drawn), 28'257 / 20.0, 4 * std::sqrt(28'257) / 20);
  EXPECT_NEAR(gap_cv(drawn), 1, 0.03);
}

TEST(PublishedFigures, SyntheticLawsHaveTheirMoments) {
  TraceSpec spec;
  spec.format = "synthetic";
  spec.rate = 50;
  spec.arrivals = *ArrivalLaw::parse("gamma:3");
  spec.prompt = *LengthLaw::parse("lognormal:800:1.5");
  spec.output = *LengthLaw::parse("uniform:10:20");
  spec.slice.max_requests = 200'000;
  const Trace trace = must_read(spec);
  ASSERT_EQ(trace.requests.size(), 200'000U);
  EXPECT_NEAR(gap_cv(trace), 3, 0.1);
  EXPECT_NEAR(last_arrival_s(trace), 4000, 4 * 3 * std::sqrt(200'000) / 50);
  const auto [prompt, output] = lengths_of(trace);
  EXPECT_NEAR(prompt.mean, 800, 12);
  EXPECT_NEAR(prompt.p50, 800 / std::sqrt(1 + 1.5 * 1.5), 6);  // a lognormal law's median
  EXPECT_NEAR(output.mean, 15, 0.05);
  EXPECT_EQ(output.min, 10);
  EXPECT_EQ(output.max, 20);
}

}  // namespace
}  // namespace evenkeel::workload
