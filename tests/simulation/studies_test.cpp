// Each study at tiny length: what it writes, and that its tables have a row for every line. Outputs are cut short, so
// that the warm-ups are.
#include "simulation/studies.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "simulation/stationary_law.hpp"
#include "simulation/study_page.hpp"
#include "simulation/study_parts.hpp"

namespace evenkeel::simulation {
namespace {

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

Study small_study(std::string_view name) {
  Study study = *find_study(name);
  for (StudyCase& one : study.cases) {
    if (one.options.outputs.starts_with("lognormal")) one.options.outputs = "lognormal:20:0.9";
    one.options.slots = std::min<std::int64_t>(one.options.slots, 8);
    if (one.options.pool_requests) one.options.pool_requests = 2 * one.options.workers;
    one.length = 1;
  }
  return study;
}

StudyRun small_run() {
  StudyRun run;
  run.steps = 200;
  run.seeds = 2;
  return run;
}

class Studies : public ::testing::TestWithParam<std::string_view> {
 protected:
  Studies() {
    directory_ = std::filesystem::path(::testing::TempDir()) / "evenkeel-studies" / std::string(GetParam());
    std::filesystem::remove_all(directory_);
  }
  ~Studies() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
};

TEST_P(Studies, WriteAPageWithARowForEveryLineAndAPicture) {
  const Study study = small_study(GetParam());
  const StudyRun run = small_run();
  const auto results = run_study(study, run);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  const auto files = write_study(directory_.string(), study, run, *results);
  ASSERT_TRUE(files.has_value()) << files.error().message;
  ASSERT_EQ(files->size(), 2U);
  const std::string page = text_of_file((*files)[0]);
  const std::string picture = text_of_file((*files)[1]);

  EXPECT_TRUE(page.starts_with("# "));
  EXPECT_NE(page.find(command_of(study, run)), std::string::npos);
  EXPECT_NE(page.find("seeds 1 to 2"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("inf "), std::string::npos);
  EXPECT_TRUE(picture.starts_with("<?xml"));
  EXPECT_EQ(count(picture, "<svg"), count(picture, "</svg>"));
  if (GetParam() == "theory") {
    EXPECT_EQ(count(page, "\n| 4, "), 2U + 5U);  // two of the three sizes of the exact law
    EXPECT_EQ(count(page, "\n| 32, "), 3U);
    EXPECT_EQ(count(page, "\n| G = "), 4U);  // fits
    return;
  }
  for (const StudyCase& one : study.cases) {
    const auto begin = page.find("\n## " + one.label + "\n");
    ASSERT_NE(begin, std::string::npos) << one.label;
    const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    for (const StudyLine& line : one.lines) {
      EXPECT_GE(count(section, "\n| `" + line.policy + "`"), 1U) << one.label << ' ' << line.policy;
    }
    const std::size_t tables = GetParam() == "fairness" ? 2 : 1;
    EXPECT_EQ(count(section, "\n| `"), tables * one.lines.size()) << one.label;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Studies, ::testing::ValuesIn(study_names().begin(), study_names().end()),
                         [](const auto& each) {
                           std::string name(each.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(StudyNames, TheNearestIsNamed) {
  const auto wrong = find_study("balancetable");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("did you mean balance-table?"), std::string::npos) << wrong.error().message;
  EXPECT_NE(wrong.error().message.find("fairness"), std::string::npos) << wrong.error().message;
}

TEST(StudyRuns, StepsOutOfBoundsAreRefused) {
  StudyRun run = small_run();
  run.steps = 0;
  const auto refused = run_study(small_study("recurrence"), run);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("steps is 0"), std::string::npos);
}

TEST(StudyRuns, AWrongSettingNamesItsCase) {
  Study study = small_study("recurrence");
  study.cases[1].options.slots = 0;
  const auto refused = run_study(study, small_run());
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("recurrence, B = 32: --slots is 0"), std::string::npos)
      << refused.error().message;
}

TEST(StudyRuns, TheCapOfALineIsKept) {
  Study study = small_study("fairness");
  study.cases.resize(1);
  StudyRun run = small_run();
  run.steps = 4000;
  const auto results = run_study(study, run);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  const CaseResult& result = results->front();
  // Those that come due together are admitted one after the other.
  EXPECT_LE(result.find("br0", 40)->mean.overtakes_max, 40 + 2 * 32);
  EXPECT_GT(result.find("br0")->mean.overtakes_max, 200);
  EXPECT_EQ(result.find("br0", 41), nullptr);
}

TEST(StudyRuns, JsonHasEveryLineOfEveryCase) {
  const Study study = small_study("staleness");
  const auto results = run_study(study, small_run());
  ASSERT_TRUE(results.has_value()) << results.error().message;
  const auto object = boost::json::parse(study_json(study, small_run(), *results, {"a.md", "a.svg"})).as_object();
  EXPECT_EQ(object.at("experiment").as_string(), "staleness");
  EXPECT_EQ(object.at("files").as_array().size(), 2U);
  const auto& cases = object.at("cases").as_array();
  ASSERT_EQ(cases.size(), study.cases.size());
  const auto& lines = cases[1].as_object().at("lines").as_array();
  ASSERT_EQ(lines.size(), study.cases[1].lines.size());
  EXPECT_EQ(lines[3].as_object().at("setting").as_object().at("overtake_cap").as_int64(), 40);
  EXPECT_EQ(lines[3].as_object().at("setting").as_object().at("stale_steps").as_int64(), 5);
}

Summary summary_of(const std::vector<double>& imbalances) {
  std::vector<RunResult> runs;
  for (const double each : imbalances) {
    RunResult run;
    run.metrics.mean_imbalance = each;
    runs.push_back(run);
  }
  return summarise({"made", {}}, std::move(runs));
}

TEST(StudyEstimates, DifferencesArePaired) {
  // Differences 1, 2, 6: mean 3, variance 7, standard error sqrt(7 / 3).
  const Estimate gap = paired_difference(summary_of({11, 22, 36}), summary_of({10, 20, 30}), &Metrics::mean_imbalance);
  EXPECT_DOUBLE_EQ(gap.value, 3);
  EXPECT_DOUBLE_EQ(gap.error, std::sqrt(7.0 / 3));
  EXPECT_FALSE(gap.over(2));
  EXPECT_TRUE(gap.over(1.9));
}

TEST(StudyEstimates, TextHasTheErrorInTheSameUnit) {
  EXPECT_EQ(text_of({28'420, 312}, 1, 1e3), "28.4 ±0.3");
  EXPECT_EQ(text_of({2, 0}, 2), "2.00");
}

// Monte-Carlo draws of the law, with their standard errors: G, B = 4, 16: 870 (8); 16, 64: 12,283 (64); 4, 256:
// 3,410 (60). One worker has no imbalance; with outputs of one token and one slot I is that of the largest of two even
// draws from 1..n: E[max] = (n + 1)(4n - 1) / (6n).
TEST(StationaryImbalance, AgreesWithDrawsAndWithWhatCanBeWrittenDown) {
  EXPECT_NEAR(stationary_imbalance(4, 16, 50, 0.02), 870, 3 * 8);
  EXPECT_NEAR(stationary_imbalance(16, 64, 50, 0.02), 12'283, 3 * 64);
  EXPECT_NEAR(stationary_imbalance(4, 256, 50, 0.02), 3'410, 3 * 60);
  EXPECT_NEAR(stationary_imbalance(1, 7, 50, 0.1), 0, 1e-6);
  const double n = 9;
  EXPECT_NEAR(stationary_imbalance(2, 1, 9, 1), 2 * ((n + 1) * (4 * n - 1) / (6 * n) - (n + 1) / 2), 1e-9);
}

}  // namespace
}  // namespace evenkeel::simulation
