#include "simulation/batch.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "simulation/results.hpp"
#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

RunResult run_of(double imbalance, double longest_wait) {
  RunResult result;
  result.metrics.mean_imbalance = imbalance;
  result.metrics.wait_max_s = longest_wait;
  result.imbalance_se = 3;
  return result;
}

TEST(Summarise, MeansAndTheirErrorsButTheLargestOfTheLargest) {
  const Summary summary = summarise({"br0", {}}, {run_of(10, 4), run_of(14, 9), run_of(18, 5)});
  EXPECT_DOUBLE_EQ(summary.mean.mean_imbalance, 14);
  EXPECT_DOUBLE_EQ(summary.error.mean_imbalance, 4 / std::sqrt(3));  // deviation 4 over three
  EXPECT_DOUBLE_EQ(summary.mean.wait_max_s, 9);
  EXPECT_DOUBLE_EQ(summarise({"br0", {}}, {run_of(10, 4)}).error.mean_imbalance, 3);  // its own, by batches
}

TEST(PairedRatio, KnowsThatTheSeedsAreThoseOfBoth) {
  const Summary b = summarise({"b", {}}, {run_of(10, 0), run_of(20, 0), run_of(30, 0)});
  const Summary half = summarise({"a", {}}, {run_of(5, 0), run_of(10, 0), run_of(15, 0)});
  EXPECT_DOUBLE_EQ(paired_ratio(half, b, &Metrics::mean_imbalance).value, 0.5);
  EXPECT_NEAR(paired_ratio(half, b, &Metrics::mean_imbalance).error, 0, 1e-15);  // though each varies widely
  const Summary other = summarise({"a", {}}, {run_of(6, 0), run_of(9, 0), run_of(15, 0)});
  // residuals 1, -1, 0: deviation 1, over sqrt(3) and the mean of b
  EXPECT_NEAR(paired_ratio(other, b, &Metrics::mean_imbalance).error, 1 / std::sqrt(3) / 20, 1e-15);
}

TEST(BatchMeans, IsTheErrorOfTheMeanOfIndependentValues) {
  Random random(11);
  BatchMeans means;
  constexpr int count = 40'000;
  for (int i = 0; i < count; ++i) means.add(random.normal(5, 2), 1, static_cast<double>(i) / count);
  EXPECT_NEAR(means.mean(), 5, 0.04);
  EXPECT_NEAR(means.standard_error(), 2 / std::sqrt(count), 0.5 * 2 / std::sqrt(count));  // of twenty batches
  BatchMeans unplaced;
  unplaced.add(1, 1, -1);
  unplaced.add(2, 3, -1);
  EXPECT_DOUBLE_EQ(unplaced.mean(), 7 / 4.0);
  EXPECT_EQ(unplaced.standard_error(), 0);
}

std::vector<routing::PolicySpec> policies(const char* text) { return routing::PolicySpec::parse_list(text).value(); }

Setting small() {
  Options options;
  options.workers = 3;
  options.slots = 4;
  options.sync = true;
  options.outputs = "lognormal:50:0.9";
  options.steps = 400;
  return parsed_or_fail(options);
}

TEST(RunAll, TheSameArgumentsGiveTheSameBytes) {
  BatchOptions options;
  options.seeds = 2;
  const auto once = run_all(small(), policies("least_requests,random,br0"), options);
  const auto twice = run_all(small(), policies("least_requests,random,br0"), options);
  ASSERT_TRUE(once && twice);
  const std::string bytes = to_json(small(), *once, {});
  EXPECT_EQ(bytes, to_json(small(), *twice, {}));
  // What stands beside it does not matter to a run, and another seed does.
  const auto alone = run_all(small(), policies("br0"), options);
  ASSERT_TRUE(alone);
  EXPECT_EQ((*alone)[0].mean.mean_imbalance, (*once)[2].mean.mean_imbalance);
  EXPECT_NE((*alone)[0].runs[0].metrics.mean_imbalance, (*alone)[0].runs[1].metrics.mean_imbalance);
}

TEST(RunAll, TellsWhatIsWrongBeforeItRuns) {
  const auto error_of = [](const Setting& setting, const char* names, const BatchOptions& options) {
    const auto made = run_all(setting, policies(names), options);
    return made ? std::string() : made.error().message;
  };
  EXPECT_NE(error_of(small(), "best", {}).find("best"), std::string::npos);
  EXPECT_NE(error_of(small(), "brh[forecast=none_such]", {}).find("oracle"), std::string::npos);
  BatchOptions none;
  none.seeds = 0;
  EXPECT_NE(error_of(small(), "br0", none).find("seeds is 0: allowed are 1 to 10000"), std::string::npos);
  Setting negative = small();
  negative.engine.slots = -1;
  EXPECT_NE(error_of(negative, "br0", {}).find("slots is -1: allowed are 1 to"), std::string::npos);
  Setting empty = small();
  empty.lengths.trace = trace_of({});
  EXPECT_NE(error_of(empty, "br0", {}).find("the trace has no requests"), std::string::npos);
  Setting ends_early = small();
  ends_early.arrivals.requests = 20;
  EXPECT_NE(error_of(ends_early, "br0", {}).find("within the warm-up"), std::string::npos);
  Setting too_long = small();
  too_long.engine.kv_capacity = Tokens(160);  // a prompt of more can never run
  EXPECT_NE(error_of(too_long, "br0", {}).find("prompt"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::simulation
