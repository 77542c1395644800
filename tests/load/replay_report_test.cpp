#include "load/replay_report.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "load/replay_json.hpp"
#include "load/replay_svg.hpp"
#include "load/replay_table.hpp"
#include "load/worker_share.hpp"

namespace evenkeel::load {
namespace {

using namespace std::chrono_literals;

/// A streamed request that completed: due, then ms after that for the first and last token.
RequestRecord streamed(Duration due, Duration first, Duration last, std::int64_t output) {
  RequestRecord record;
  record.due = due;
  record.sent = due;
  record.first_content = due + first;
  record.last_content = due + last;
  record.ended = due + last + 2ms;
  record.trace_prompt = record.prompt = Tokens(100);
  record.trace_output = Tokens(50);
  record.output = Tokens(output);
  record.counted_by = CountedBy::usage;
  record.status = 200;
  return record;
}

RequestRecord failed(Duration due, Ending ending, int status) {
  RequestRecord record = streamed(due, 10ms, 10ms, 3);
  record.ending = ending;
  record.status = status;
  record.ended = due + 1h;
  return record;
}

int occurrences(std::string_view text, std::string_view what) {
  int count = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// Five requests, worked out by hand below.
Gathered five() {
  Gathered gathered;
  gathered.records = {streamed(1s, 100ms, 500ms, 5),  // TPOT 400 / 4 = 100
                      streamed(2s, 200ms, 260ms, 4),  // 60 / 3 = 20
                      streamed(3s, 300ms, 300ms, 1),  // one token: no TPOT
                      failed(4s, Ending::truncated, 200), failed(6s, Ending::status, 429)};
  gathered.worker_names = {"b", "a"};
  gathered.records[0].worker = 0;
  gathered.records[1].worker = 1;
  gathered.records[2].worker = 0;
  gathered.records[3].worker = 0;
  gathered.records[2].sent = 3s + 40ms;
  gathered.records[2].held = true;
  gathered.records[1].sent = 2s + 3ms;
  gathered.records[1].router_wait_ms = 12;
  gathered.policies = {{"round_robin", 4}};
  gathered.refusals = {{"pool_full", 1}};
  gathered.examples[static_cast<std::size_t>(Ending::status)] = "429: full";
  return gathered;
}

TEST(ReplayReport, OfferedLoadCountsEveryRequestAndCompletedLoadWhatCameBack) {
  const auto report = summarize(five(), {});
  EXPECT_EQ(report.offered.requests, 5U);
  EXPECT_EQ(report.offered.prompt_tokens, 500);
  EXPECT_EQ(report.offered.output_tokens, 250);
  EXPECT_DOUBLE_EQ(report.offered.span_s, 5);
  EXPECT_EQ(report.completed.requests, 3U);
  EXPECT_EQ(report.completed.output_tokens, 10);
  EXPECT_DOUBLE_EQ(report.completed.span_s, 2.302);  // 1 s to 3.302 s
  EXPECT_DOUBLE_EQ(report.completed.output_tokens_per_s(), 10 / 2.302);
  EXPECT_EQ(report.failed(), 2U);
  EXPECT_EQ(report.wasted_output_tokens, 6);
  EXPECT_EQ(report.endings[static_cast<std::size_t>(Ending::truncated)].requests, 1U);
  EXPECT_EQ(report.statuses, (std::map<int, std::uint64_t>{{200, 4}, {429, 1}}));
}

TEST(ReplayReport, LatenciesAreOfCompletedRequestsFromTheirScheduledArrival) {
  const auto report = summarize(five(), {});
  EXPECT_EQ(report.ttft_values_ms, (std::vector<double>{100, 200, 300}));
  // Ranks (n - 1) p: p50 is the second value, p95 lies at 1.9, p99 at 1.98.
  EXPECT_DOUBLE_EQ(report.ttft_ms.p50, 200);
  EXPECT_DOUBLE_EQ(report.ttft_ms.p90, 280);
  EXPECT_DOUBLE_EQ(report.ttft_ms.p95, 290);
  EXPECT_DOUBLE_EQ(report.ttft_ms.p99, 298);
  EXPECT_DOUBLE_EQ(report.ttft_ms.max, 300);
  EXPECT_EQ(report.tpot_ms.count, 2U);
  EXPECT_DOUBLE_EQ(report.tpot_ms.mean, 60);
  EXPECT_DOUBLE_EQ(report.tpot_ms.p95, 96);  // 20 + 0.95 * 80
  EXPECT_DOUBLE_EQ(report.e2e_ms.max, 502);
  EXPECT_DOUBLE_EQ(report.e2e_ms.p50, 302);
}

TEST(ReplayReport, TheClientsOwnDelaysAreToldApart) {
  const auto report = summarize(five(), {});
  EXPECT_EQ(report.held_requests, 1U);
  EXPECT_DOUBLE_EQ(report.held_ms.max, 40);
  EXPECT_EQ(report.late_ms.count, 4U);
  EXPECT_DOUBLE_EQ(report.late_ms.max, 3);
  ASSERT_TRUE(report.router_wait_ms.has_value());
  EXPECT_EQ(report.router_wait_ms->count, 1U);
}

TEST(ReplayReport, GoodputIsOfTheOfferedRequestsAndWantsEverySlo) {
  EXPECT_FALSE(summarize(five(), {}).goodput.has_value());
  const auto ttft = summarize(five(), {250, std::nullopt});
  EXPECT_EQ(ttft.goodput->requests, 2U);  // 100 and 200 ms; the failures do not count, whatever they had
  EXPECT_DOUBLE_EQ(ttft.goodput->share, 0.4);
  EXPECT_DOUBLE_EQ(ttft.goodput->requests_per_s, 2 / 2.302);
  EXPECT_EQ(summarize(five(), {250, 50}).goodput->requests, 1U);
  EXPECT_EQ(summarize(five(), {std::nullopt, 50}).goodput->requests, 2U);  // one token has no TPOT to miss
  EXPECT_EQ(summarize(five(), {300, 100}).goodput->requests, 3U);          // the limits themselves are met
}

TEST(ReplayReport, AnAnswerWithoutContentIsJudgedByItsEnd) {
  Gathered gathered;
  gathered.records = {streamed(0s, 1ms, 1ms, 0)};
  gathered.records[0].first_content.reset();
  gathered.records[0].ended = 80ms;
  EXPECT_EQ(summarize(gathered, {79, std::nullopt}).goodput->requests, 0U);
  EXPECT_EQ(summarize(gathered, {80, std::nullopt}).goodput->requests, 1U);
}

TEST(ReplayReport, WorkersComeFromReceipts) {
  const auto report = summarize(five(), {});
  ASSERT_EQ(report.workers.size(), 2U);
  EXPECT_EQ(report.workers[0].name, "a");
  EXPECT_EQ(report.workers[1].answers, 3U);
  EXPECT_EQ(report.workers[1].completed, 2U);
  EXPECT_EQ(report.workers[1].output_tokens, 6);
  EXPECT_DOUBLE_EQ(answer_share(report, "b"), 0.75);
  EXPECT_DOUBLE_EQ(answer_share(report, "c"), 0);
  EXPECT_EQ(report.policy, "round_robin");
}

TEST(ReplayReport, NothingGivesNoNumbers) {
  const auto report = summarize(Gathered{}, {1, 1});
  EXPECT_EQ(report.offered.requests, 0U);
  EXPECT_EQ(report.ttft_ms.count, 0U);
  EXPECT_EQ(report.goodput->requests, 0U);
  EXPECT_DOUBLE_EQ(report.completed.output_tokens_per_s(), 0);
  EXPECT_FALSE(result_table(report).empty());
  EXPECT_TRUE(boost::json::parse(to_json(report)).at("ttft_ms").is_null());
}

TEST(ReplayJson, HoldsWhatWasMeasured) {
  auto report = summarize(five(), {250, std::nullopt});
  report.label = "a \"label\"";
  const auto json = boost::json::parse(to_json(report));
  EXPECT_EQ(json.at("label").as_string(), "a \"label\"");
  EXPECT_EQ(json.at("offered").at("requests").to_number<int>(), 5);
  EXPECT_EQ(json.at("completed").at("counted_by_usage").to_number<int>(), 3);
  EXPECT_EQ(json.at("failed").at("requests").to_number<int>(), 2);
  EXPECT_EQ(json.at("failed").at("truncated").to_number<int>(), 1);
  EXPECT_EQ(json.at("failed").at("status_classes").at("429").to_number<int>(), 1);
  EXPECT_EQ(json.at("failed").at("status_classes").at("4xx").to_number<int>(), 0);
  EXPECT_EQ(json.at("failed").at("refusals").at("pool_full").to_number<int>(), 1);
  EXPECT_EQ(json.at("failed").at("examples").at("status").as_string(), "429: full");
  EXPECT_DOUBLE_EQ(json.at("ttft_ms").at("p95").to_number<double>(), 290);
  EXPECT_DOUBLE_EQ(json.at("goodput").at("share").to_number<double>(), 0.4);
  EXPECT_TRUE(json.at("goodput").at("slo_tpot_ms").is_null());
  EXPECT_EQ(json.at("workers").at(1).at("answers").to_number<int>(), 3);
}

TEST(Comparison, PutsRunsSideBySide) {
  auto one = summarize(five(), {});
  one.label = "round_robin";
  auto two = one;
  two.label = "least_wait";
  two.ttft_ms.p95 = 145;
  two.workers.push_back({"z", 4, 4, 9});
  const std::vector<ReplayReport> reports{one, two};
  EXPECT_EQ(comparison_table(reports),
            "                    round_robin  least_wait\n"
            "------------------  -----------  ----------\n"
            "requests completed       3 of 5      3 of 5\n"
            "TTFT p50 ms               200.0       200.0\n"
            "TTFT p95 ms               290.0       145.0\n"
            "TTFT p99 ms               298.0       298.0\n"
            "TPOT p95 ms                96.0        96.0\n"
            "e2e p95 ms                482.0       482.0\n"
            "output tok/s                4.3         4.3\n"
            "------------------  -----------  ----------\n"
            "share of a                 25 %      12.5 %\n"
            "share of b                 75 %      37.5 %\n"
            "share of z                  0 %        50 %\n");
  const auto svg = comparison_svg(reports);
  EXPECT_EQ(svg.find("<?xml"), 0U);
  EXPECT_EQ(svg.find("<?xml", 1), std::string::npos);
  EXPECT_NE(svg.find("least_wait"), std::string::npos);
  EXPECT_LT(svg.find("Time to first token"), svg.find("Answers by worker"));
  EXPECT_EQ(occurrences(svg, "<svg "), 3);  // the drawing and two charts in it
  EXPECT_EQ(occurrences(svg, "</svg>"), 3);
}

}  // namespace
}  // namespace evenkeel::load
