#include "simulation/results.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "simulation/picture.hpp"
#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

/// A clock that runs a microsecond on at each look.
class TickingClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return Time(std::chrono::microseconds(++looks_)); }

 private:
  mutable std::int64_t looks_ = 0;
};

struct Made {
  Setting setting;
  std::vector<Summary> summaries;
};

Made made(const Clock* cpu) {
  Options written;
  written.workers = 3;
  written.slots = 4;
  written.sync = true;
  written.outputs = "lognormal:50:0.9";
  written.steps = 200;
  Made out{parsed_or_fail(written), {}};
  out.setting.trajectory_points = 20;
  BatchOptions options;
  options.seeds = 2;
  options.cpu = cpu;
  auto all = run_all(out.setting, routing::PolicySpec::parse_list("least_requests,br0[window=6]").value(), options);
  EXPECT_TRUE(all.has_value());
  out.summaries = std::move(*all);
  return out;
}

TEST(Json, HasTheKeysThatAreDocumented) {
  const TickingClock clock;
  const Made m = made(&clock);
  const auto parsed = boost::json::parse(to_json(m.setting, m.summaries, std::vector<std::string>{"a note"}));
  const auto& runs = parsed.at("runs").as_array();
  ASSERT_EQ(runs.size(), 2U);
  for (const char* key : {"policy",
                          "label",
                          "parameters",
                          "seeds",
                          "workload",
                          "mean_imbalance",
                          "imbalance_se",
                          "idle",
                          "occupancy",
                          "step_ms",
                          "throughput",
                          "tpot_p50_ms",
                          "tpot_p95_ms",
                          "tpot_p99_ms",
                          "ttft_p95_s",
                          "wait_mean_s",
                          "wait_p99_s",
                          "wait_max_s",
                          "wait_smallest_decile_s",
                          "wait_largest_decile_s",
                          "overtakes_max",
                          "served_mean_prompt",
                          "held_share",
                          "per_seed",
                          "se",
                          "timing"}) {
    EXPECT_TRUE(runs[0].as_object().contains(key)) << key;
  }
  EXPECT_EQ(runs[1].at("policy").as_string(), "br0");
  EXPECT_EQ(runs[1].at("label").as_string(), "br0[window=6]");
  EXPECT_EQ(runs[1].at("parameters").at("window").as_double(), 6);
  EXPECT_EQ(runs[1].at("seeds").to_number<int>(), 2);
  EXPECT_EQ(runs[1].at("per_seed").as_array().size(), 2U);
  EXPECT_EQ(runs[1].at("per_seed").at(1).at("seed").to_number<int>(), 2);
  // Each decision looks at the clock before and after.
  EXPECT_NEAR(runs[1].at("timing").at("decision_us_p50").to_number<double>(), 1, 1e-6);
  EXPECT_NEAR(runs[1].at("timing").at("decision_us_p99").to_number<double>(), 1, 1e-6);
  EXPECT_EQ(parsed.at("setting").at("workers").to_number<int>(), 3);
  EXPECT_EQ(parsed.at("notes").at(0).as_string(), "a note");
}

TEST(Json, NoTimesUnlessAskedFor) {
  const Made m = made(nullptr);
  EXPECT_EQ(to_json(m.setting, m.summaries, {}).find("timing"), std::string::npos);
}

TEST(Table, HasARowAPolicyWithRatioToTheFirst) {
  const Made m = made(nullptr);
  const std::string text = result_table(m.setting, m.summaries, std::vector<std::string>{"a note"});
  EXPECT_NE(text.find("\nleast_requests"), std::string::npos);
  EXPECT_NE(text.find("\nbr0[window=6]"), std::string::npos);
  EXPECT_NE(text.find("1.000"), std::string::npos);
  EXPECT_NE(text.find("a note\n"), std::string::npos);
}

TEST(Picture, HasAPanelAPolicyAndALineAWorker) {
  const Made m = made(nullptr);
  EXPECT_EQ(m.summaries[0].runs[0].trajectories.loads.size(), 3U);
  EXPECT_EQ(m.summaries[0].runs[0].trajectories.step.size(), 20U);
  EXPECT_EQ(m.summaries[0].runs[0].trajectories.step[1], 10);
  const std::string svg = comparison_svg(m.summaries);
  EXPECT_EQ(svg.find("<?xml"), 0U);
  EXPECT_EQ(svg.rfind("<?xml"), 0U);  // one document
  EXPECT_NE(svg.find("least_requests: load of each worker"), std::string::npos);
  EXPECT_NE(svg.find("br0[window=6]: load of each worker"), std::string::npos);
  EXPECT_NE(svg.find("Mean imbalance"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::simulation
