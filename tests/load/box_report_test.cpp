// What boxes could have done with a run: splits, ceilings and optima worked out from the rates by hand.
#include "load/box_report.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "load/replay_json.hpp"
#include "load/replay_report.hpp"
#include "load/replay_table.hpp"
#include "load/support/fluid_box.hpp"

namespace evenkeel::load {
namespace {

using namespace testing;

const std::vector<double> thor = {18.18, 50.71};
const std::vector<double> spark = {49.24, 87.82};
const std::vector<std::string> workers = {"thor", "spark"};  // by name: spark, thor

std::vector<RequestRecord> burst(int at_thor, int at_spark) {
  std::vector<RequestRecord> records;
  record(records, 0, thor, std::vector<Come>(static_cast<std::size_t>(at_thor), {0, 111}));
  record(records, 1, spark, std::vector<Come>(static_cast<std::size_t>(at_spark), {0, 111}));
  return records;
}

std::vector<KnownBox> known() { return *parse_known_boxes("thor=18.18,50.71; spark = 49.24,87.82"); }

TEST(BoxReport, TheBestSplitOfEightHasEfficiencyOne) {
  const auto report = box_report(burst(2, 6), workers, known());
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->measured);
  ASSERT_EQ(report->boxes.size(), 2U);
  EXPECT_EQ(report->boxes[0].name, "spark");
  EXPECT_EQ(report->boxes[0].requests, 6);
  EXPECT_EQ(report->boxes[1].output_tokens, 222);
  EXPECT_NEAR(report->tokens_per_s, 888 / (3 * 222 / 87.82), 0.01);
  EXPECT_NEAR(report->ceiling, 888 / (3 * 222 / 87.82), 0.01);
  EXPECT_TRUE(report->exact);
  EXPECT_EQ(report->optimum_split, (std::vector<std::int64_t>{6, 2}));
  EXPECT_NEAR(report->efficiency(), 1, 1e-3);
}

TEST(PeersH3, TheReportOfSixAndTwoStatesItsCeilingAndWhatItIsToTheBest) {
  const auto report = box_report(burst(6, 2), workers, known());
  ASSERT_TRUE(report.has_value());
  EXPECT_NEAR(report->ceiling, 67.61, 0.01);  // 888 / (3 * 222 / 50.71)
  EXPECT_NEAR(report->efficiency(), 0.577, 0.001);
}

TEST(BoxReport, RatesThatAreNotKnownAreThoseOfTheRun) {
  const auto report = box_report(burst(3, 5), workers, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->measured);
  EXPECT_NEAR(report->boxes[0].rate_one.value(), 49.24, 0.01);
  EXPECT_NEAR(report->boxes[0].rate_full.value(), 87.82, 0.01);
  EXPECT_NEAR(report->boxes[1].rate_one.value(), 18.18, 0.01);
  EXPECT_NEAR(report->boxes[1].rate_full.value(), 50.71, 0.01);
  EXPECT_NEAR(report->optimum, 117.09, 0.05);
}

TEST(BoxReport, ALevelThatWasNeverSeenIsSaid) {
  const auto report = box_report(burst(2, 2), workers, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->boxes[1].rate_one.has_value());
  EXPECT_EQ(report->boxes[1].unseen, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(report->boxes[1].slots, 2U);
  EXPECT_NEAR(report->optimum, 101.42, 0.05);  // no better split even if one ran at half the rate of two
}

TEST(BoxReport, ABoxThatServedNothingIsPartOfWhatCouldHaveBeen) {
  std::vector<RequestRecord> records;
  record(records, 0, thor, std::vector<Come>(4, {0, 111}));
  const std::vector<std::string> only = {"thor"};
  const auto report = box_report(records, only, known());
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->boxes[0].requests, 0);
  EXPECT_NEAR(report->tokens_per_s, 50.71, 0.01);
  EXPECT_NEAR(report->optimum, 101.42, 0.01);
  EXPECT_NEAR(report->efficiency(), 0.5, 1e-3);
}

TEST(BoxReport, OfUnequalRequestsAndDrawnOutArrivalsTheOptimumIsABound) {
  std::vector<RequestRecord> records;
  record(records, 0, thor, {{0, 100}, {0, 50}});
  record(records, 1, spark, {{0, 300}, {2, 100}});
  const auto report = box_report(records, workers, known());
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->exact);
  EXPECT_NEAR(report->optimum, 138.53, 0.01);  // all 550 at both full rates, which the late one does not delay
  EXPECT_NEAR(report->ceiling, report->tokens_per_s, 0.01);
  EXPECT_LT(report->efficiency(), 1);
}

TEST(BoxReport, WithoutNamesTheBoxesAreInTheOrderOfTheWorkersNames) {
  const auto report = box_report(burst(2, 6), workers, *parse_known_boxes("49.24,87.82;18.18,50.71"));
  ASSERT_TRUE(report.has_value());
  EXPECT_NEAR(report->efficiency(), 1, 1e-3);
}

TEST(BoxReport, WhatDoesNotFitIsSaidInWords) {
  const auto says = [](const Result<BoxReport>& report, std::string_view words) {
    return !report && report.error().message.find(words) != std::string::npos;
  };
  EXPECT_TRUE(says(box_report({}, {}, {}), "no answer named"));
  EXPECT_TRUE(says(box_report(burst(2, 6), workers, *parse_known_boxes("1;2;3")), "2 workers"));
  EXPECT_TRUE(says(box_report(burst(2, 6), workers, *parse_known_boxes("thor=1")), "spark"));
  auto plain = burst(2, 6);
  for (auto& record : plain) record.first_content.reset();
  EXPECT_TRUE(says(box_report(plain, workers, {}), "streamed"));
  EXPECT_TRUE(box_report(plain, workers, known()).has_value());
  for (auto& record : plain) record.ending = Ending::truncated;
  EXPECT_TRUE(says(box_report(plain, workers, known()), "completed"));
}

TEST(KnownBoxes, WhatIsWrongIsNamed) {
  EXPECT_EQ(known()[1].name, "spark");
  EXPECT_EQ(known()[1].box.tokens_per_s, spark);
  for (const std::string_view wrong : {"", "a=1;2", "a=1;a=2", "=1", "a=", "a=0", "a=1;b=x"}) {
    const auto refused = parse_known_boxes(wrong);
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().message.find("--boxes: "), 0U) << refused.error().message;
  }
}

TEST(BoxReport, StandsInTableAndJson) {
  Gathered gathered;
  gathered.records = burst(2, 2);
  gathered.worker_names = workers;
  ReplayReport report = summarize(gathered, {});
  EXPECT_TRUE(boost::json::parse(to_json(report)).at("boxes").is_null());
  report.boxes = box_report(gathered.records, gathered.worker_names, {}).value();
  const auto boxes = boost::json::parse(to_json(report)).at("boxes");
  EXPECT_EQ(boxes.at("rates").as_string(), "measured");
  EXPECT_TRUE(boxes.at("workers").at(0).at("rate_1").is_null());
  EXPECT_EQ(boxes.at("workers").at(0).at("unseen_levels").at(0).to_number<int>(), 1);
  EXPECT_EQ(boxes.at("optimum_is").as_string(), "exact");
  EXPECT_EQ(boxes.at("split").at(1).to_number<int>(), 2);
  EXPECT_NEAR(boxes.at("efficiency").to_number<double>(), 1, 1e-3);
  const std::string text = result_table(report);
  EXPECT_NE(text.find("not seen"), std::string::npos);
  EXPECT_NE(text.find("split 2/2: 101.42 tok/s, its ceiling 101.42; best split 2/2: 101.42; efficiency 1.000"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace evenkeel::load
