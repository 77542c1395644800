// The long run of global first come first served against its exact law (arXiv 2601.17855, the snapshot behind the lower
// bound of theorem 1): all slots full, outputs geometric, a worker's load is a sum of B independent U = S + A with S a
// prompt and A = O - 1 in law; then E[I] = G E[max of G such sums] - G B E[U]. The law is computed here by
// convolution, without a simulation. (What shifts all loads alike it does not see: the hand-computed runs do.)
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "effort.hpp"
#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

constexpr int longest_prompt = 50;
constexpr double stop = 0.02;

constexpr double part_of_draws = effort(1.0, 0.05);

/// P(sum of `slots` uniform prompts = n): each more is a sliding sum over the law before.
std::vector<double> law_of_prompts(int slots) {
  std::vector<double> law{1};
  for (int i = 0; i < slots; ++i) {
    std::vector<double> next(law.size() + longest_prompt, 0.0);
    double window = 0;
    for (std::size_t n = 1; n < next.size(); ++n) {
      if (n - 1 < law.size()) window += law[n - 1];
      if (n > longest_prompt) window -= law[n - 1 - longest_prompt];
      next[n] = window / longest_prompt;
    }
    law = std::move(next);
  }
  return law;
}

/// P(sum of `slots` geometric ages <= n): negative binomial.
std::vector<double> distribution_of_ages(int slots) {
  const double mean = slots * (1 - stop) / stop;
  const double deviation = std::sqrt(slots * (1 - stop)) / stop;
  const auto size = static_cast<std::size_t>(mean + 14 * deviation);
  std::vector<double> cumulative(size);
  double log_mass = slots * std::log(stop);
  double sum = 0;
  for (std::size_t n = 0; n < size; ++n) {
    sum += std::exp(log_mass);
    cumulative[n] = sum;
    log_mass += std::log1p(-stop) + std::log(static_cast<double>(n) + slots) - std::log(static_cast<double>(n) + 1);
  }
  return cumulative;
}

double exact_imbalance(int workers, int slots) {
  const std::vector<double> prompts = law_of_prompts(slots);
  const std::vector<double> ages = distribution_of_ages(slots);
  double largest = 0;
  for (std::size_t x = 0; x < prompts.size() + ages.size(); ++x) {
    double below = 0;  // P(load <= x)
    for (std::size_t s = 0; s < prompts.size() && s <= x; ++s) {
      below += prompts[s] * ages[std::min(x - s, ages.size() - 1)];
    }
    largest += 1 - std::pow(std::min(below, 1.0), workers);
  }
  const double mean = slots * ((longest_prompt + 1) / 2.0 + (1 - stop) / stop);
  return workers * (largest - mean);
}

struct Case {
  int workers;
  int slots;
  std::int64_t pool;  ///< over what leaves in a step, so that no slot stays open
  std::int64_t steps;
  double published;  ///< estimated from exact draws of the law, with its standard error
  double published_error;
};

class StationaryLaw : public ::testing::TestWithParam<Case> {};

TEST_P(StationaryLaw, FewestRequestsAgreesWithTheConvolution) {
  const Case& c = GetParam();
  const double exact = exact_imbalance(c.workers, c.slots);
  EXPECT_NEAR(exact, c.published, 3 * c.published_error);

  Options options;
  options.workers = c.workers;
  options.slots = c.slots;
  options.sync = true;
  options.prompts = "uniform:1:50";
  options.outputs = "geometric:0.02";
  options.pool_requests = c.pool;
  options.steps = static_cast<std::int64_t>(part_of_draws * static_cast<double>(c.steps));
  const RunResult result = run_or_fail(parsed_or_fail(options), "least_requests", 1);
  EXPECT_DOUBLE_EQ(result.metrics.occupancy, 1);
  EXPECT_GT(result.imbalance_se, 0);
  if (!sanitized) {
    EXPECT_LT(result.imbalance_se, 0.011 * exact);
  }
  EXPECT_NEAR(result.metrics.mean_imbalance, exact, std::max(0.01 * exact, 2.5 * result.imbalance_se))
      << "standard error " << result.imbalance_se;
}

INSTANTIATE_TEST_SUITE_P(Settings, StationaryLaw,
                         ::testing::Values(Case{4, 16, 24, 800'000, 870, 8}, Case{16, 64, 80, 60'000, 12'283, 64},
                                           Case{4, 256, 80, 150'000, 3'410, 60}));

TEST(StationaryLaw, TheFirstComeRulesAgreeWhenSaturated) {
  Options options;
  options.workers = 4;
  options.slots = 16;
  options.sync = true;
  options.prompts = "uniform:1:50";
  options.outputs = "geometric:0.02";
  options.pool_requests = 24;
  options.steps = static_cast<std::int64_t>(part_of_draws * 200'000);
  const Setting setting = parsed_or_fail(options);
  const RunResult fewest = run_or_fail(setting, "least_requests", 1);
  for (const char* policy : {"round_robin", "random", "power_of_two"}) {
    const RunResult other = run_or_fail(setting, policy, 1);
    const double error = std::hypot(fewest.imbalance_se, other.imbalance_se);
    EXPECT_NEAR(other.metrics.mean_imbalance, fewest.metrics.mean_imbalance, 3.5 * error) << policy;
  }
}

}  // namespace
}  // namespace evenkeel::simulation
