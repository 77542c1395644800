// A balance of drifts that every rule must obey which keeps all slots full while outputs are geometric. Between two
// placements the k-th largest load M_k grows as fast on average as departures and refills change it; summed over k:
//   E[I] = E[O] G (H_G - 1) + G E[c],   c = sum over k < G of (G - k) / k * rise_k,   H_G = 1 + ... + 1/G,
// with rise_k the k-th largest load after a placement less the k-th largest of the other workers. The first term is a
// floor for whoever knows nothing of departures.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "effort.hpp"
#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

/// c of putting worker `filled` at its load in `loads`.
double price(std::vector<double> loads, std::size_t filled) {
  std::vector<double> others = loads;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(filled));
  std::sort(loads.rbegin(), loads.rend());
  std::sort(others.rbegin(), others.rend());
  const auto workers = static_cast<double>(loads.size());
  double sum = 0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const double k = static_cast<double>(i) + 1;
    sum += (workers - k) / k * (loads[i] - others[i]);
  }
  return sum;
}

class DriftIdentity : public ::testing::TestWithParam<const char*> {};

TEST_P(DriftIdentity, ImbalanceIsTheFloorAndThePriceOfThePlacements) {
  constexpr double mean_output = 1000;
  Options options;
  options.workers = 4;
  options.slots = 8;
  options.sync = true;
  options.outputs = "geometric:0.001";
  options.max_output = 100'000;
  options.steps = 0;
  options.requests = effort(64'000, 16'000);
  const Setting setting = parsed_or_fail(options);

  double imbalance = 0;
  double prices = 0;
  std::int64_t steps = 0;
  std::int64_t placements = 0;
  RunHooks hooks;
  hooks.step = [&](const StepSeen& seen) {
    // The start, the end and, of more than one departure at a time, what the balance does not speak of.
    if (seen.standing.running < setting.slots_total() || seen.starts.size() > 1) return;
    const auto& loads = seen.standing.loads;
    ++steps;
    for (const double load : loads) imbalance += *std::max_element(loads.begin(), loads.end()) - load;
    if (seen.starts.empty()) return;
    ++placements;
    prices += price(loads, seen.starts[0].worker);
  };
  (void)run_or_fail(setting, GetParam(), 3, hooks);
  ASSERT_GT(placements, options.requests * 9 / 10);
  const double harmonic = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0;
  const double floor = mean_output * 4 * (harmonic - 1);
  const double predicted = floor + 4 * prices / static_cast<double>(placements);
  const double measured = imbalance / static_cast<double>(steps);
  EXPECT_NEAR(measured, predicted, 0.02 * predicted);
  EXPECT_GT(measured, floor);
}

INSTANTIATE_TEST_SUITE_P(Policies, DriftIdentity, ::testing::Values("least_requests", "br0"));

}  // namespace
}  // namespace evenkeel::simulation
