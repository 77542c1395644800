// The default policy in front of simulated fleets: ahead of round robin on unequal engines, no worse on equal
// ones.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "dispatch/support/world.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;

struct Load {
  double per_s = 1;  ///< Poisson arrivals
  double mean_tokens = 111;
  double cv = 1;
  int requests = 600;
};

struct Figures {
  double mean_s = 0;      ///< mean time from arrival to last token
  double makespan_s = 0;  ///< first arrival to last token
  std::vector<double> share;
};

Figures run(std::string_view policy, const std::vector<WorldEngine>& engines, const Load& load, std::uint64_t seed) {
  Random random(seed);  // the same arrivals for every policy
  World world(engines, {}, std::move(*routing::make_policy(policy)), seed, Probing{seconds(1), milliseconds(20)});
  Time next{};
  for (int i = 0; i < load.requests; ++i) {
    next += from_seconds(random.exponential(1 / load.per_s));
    const double tokens = load.cv > 0 ? random.lognormal(load.mean_tokens, load.cv) : load.mean_tokens;
    world.run_until(next);
    (void)world.submit(std::max(1.0, std::round(tokens)), 100);
  }
  world.run_until_done();
  Figures out;
  out.share.resize(engines.size());
  for (const World::Job& job : world.jobs) {
    out.mean_s += to_seconds(*job.ended - job.submitted) / load.requests;
    out.share[job.worker] += 1.0 / load.requests;
  }
  out.makespan_s = to_seconds(world.now() - world.jobs.front().submitted);
  return out;
}

/// Of least_wait over round robin, each the mean over the seeds.
struct Ratio {
  double mean = 0;
  double makespan = 0;
};
Ratio compare(const std::vector<WorldEngine>& engines, const Load& load, int seeds) {
  Figures ours, theirs;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Figures a = run("least_wait", engines, load, static_cast<std::uint64_t>(seed));
    const Figures b = run("round_robin", engines, load, static_cast<std::uint64_t>(seed));
    ours.mean_s += a.mean_s;
    theirs.mean_s += b.mean_s;
    ours.makespan_s += a.makespan_s;
    theirs.makespan_s += b.makespan_s;
  }
  const Ratio ratio{ours.mean_s / theirs.mean_s, ours.makespan_s / theirs.makespan_s};
  ::testing::Test::RecordProperty("mean_ratio", std::to_string(ratio.mean));
  ::testing::Test::RecordProperty("makespan_ratio", std::to_string(ratio.makespan));
  return ratio;
}

/// Load at which an even split asks `overload` times what the slowest engine can do.
double rate_for(const std::vector<WorldEngine>& engines, double overload, double mean_tokens) {
  double slowest = engines.front().rates.back();
  for (const WorldEngine& engine : engines) slowest = std::min(slowest, engine.rates.back());
  return overload * slowest * static_cast<double>(engines.size()) / mean_tokens;
}

/// Rates that saturate: `most` a second with many, half of it with four.
std::vector<double> saturating(double most, int slots) {
  std::vector<double> rates;
  for (int k = 1; k <= slots; ++k) rates.push_back(most * k / (k + 4.0));
  return rates;
}

TEST(LeastWait, BeatsRoundRobinOnTwoUnequalBoxes) {
  const auto engines = thor_and_spark(64);
  const Ratio ratio = compare(engines, {rate_for(engines, 1.2, 111)}, 6);
  EXPECT_LT(ratio.mean, 0.8);
  EXPECT_LT(ratio.makespan, 0.97);
}

TEST(LeastWait, BeatsRoundRobinOnFourUnequalEngines) {
  std::vector<WorldEngine> engines;
  for (const double most : {60.0, 120.0, 180.0, 240.0})
    engines.push_back({"e" + std::to_string(most), saturating(most, 16)});
  Load load{rate_for(engines, 1.2, 150), 150, 1.2, 1500};
  const Ratio ratio = compare(engines, load, 5);
  EXPECT_LT(ratio.mean, 0.7);
  EXPECT_LT(ratio.makespan, 0.97);
}

std::vector<WorldEngine> four_equals() {
  std::vector<WorldEngine> engines;
  for (int i = 0; i < 4; ++i) engines.push_back({"e" + std::to_string(i), saturating(150, 16)});
  return engines;
}
constexpr double equals_per_s = 4 * 120.0 / 150;  // what four of them finish of 150 tokens each

TEST(LeastWait, IsNoWorseThanRoundRobinOnEqualEngines) {
  for (const double use : {0.15, 0.3, 0.6, 0.85}) {
    const Ratio ratio = compare(four_equals(), {use * equals_per_s, 150, 1, 1000}, 6);
    EXPECT_LT(ratio.mean, 1.02) << "at " << use;
    EXPECT_LT(ratio.makespan, 1.02) << "at " << use;
  }
}

/// When all answers are equally long on equal engines, the worker that was served longest ago is the
/// emptiest, which is what round robin goes by; a rule that counts and draws ties is a little behind
/// (least_requests 0.3 to 1.7 percent here), one that learns rates a little more.
TEST(LeastWait, StaysCloseToRoundRobinWhereThatIsBest) {
  for (const double use : {0.15, 0.3, 0.6, 0.85}) {
    const Ratio ratio = compare(four_equals(), {use * equals_per_s, 150, 0, 1000}, 6);
    EXPECT_LT(ratio.mean, 1.05) << "at " << use;
    EXPECT_LT(ratio.makespan, 1.02) << "at " << use;
  }
}

TEST(LeastWait, SharesByRateWhenAllAreBusy) {
  std::vector<WorldEngine> engines = {{"slow", saturating(50, 16)}, {"fast", saturating(200, 16)}};
  const Figures figures = run("least_wait", engines, {200.0 / 111, 111, 1, 2000}, 3);
  EXPECT_NEAR(figures.share[1], 0.8, 0.05);
}

TEST(LeastWait, LeavesAWorkerThatTurnsTenTimesSlower) {
  // One call at a time, as an idle fleet gets them. Equal at first; then the first worker slows down.
  const auto shares = [](double slow_rate, int calls) {
    std::vector<WorldEngine> engines = {{"a", {slow_rate}}, {"b", {100}}, {"c", {100}}};
    World world(engines, {}, std::move(*routing::make_policy("least_wait")), 5);
    std::vector<int> seen(3);
    for (int i = 0; i < calls; ++i) {
      const std::size_t job = world.submit(50);
      world.run_until_done();
      ++seen[world.jobs[job].worker];
    }
    return seen;
  };
  EXPECT_LE(shares(10, 200)[0], 5) << "tried, known, left";
  for (const int count : shares(100, 300)) EXPECT_GT(count, 30) << "equals share";
}

}  // namespace
}  // namespace evenkeel::dispatch
