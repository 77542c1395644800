// The score against its defining sum, and against the imbalance it is made of.
#include "routing/margin_score.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "routing/support/running_fleet.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

TEST(MarginScore, EqualsTheSumOverAllOffsets) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    RunningFleet fleet(2 + random.below(4));
    run_randomly(fleet, random, 8, 3000);
    const auto window = static_cast<std::int64_t>(random.below(81));
    const double gamma = random.below(4) == 0 ? 1 : 0.5 + random.unit() / 2;
    const double beta = 1 + 60 * random.unit();
    Projection projection;
    projection.build(fleet.view(), window, [&](const fleet::RunningView& request) {
      return 1 + static_cast<std::int64_t>(mix64(request.id.value) % 100);
    });
    MarginScore score(gamma, beta);
    for (std::uint32_t g = 0; g < fleet.workers.size(); ++g) {
      score.face(projection, g);
      for (int ask = 0; ask < 20; ++ask) {
        const auto total = static_cast<std::int64_t>(random.below(20000));
        double gain = 0, loss = 0;
        for (std::size_t h = 0; h < projection.offsets(); ++h) {
          const std::int64_t margin = projection.peak()[h] - projection.row(g)[h];
          const double weight = std::pow(gamma, static_cast<double>(h));
          gain += weight * static_cast<double>(total);
          loss += beta * weight * static_cast<double>(std::max<std::int64_t>(0, total - margin));
        }
        ASSERT_NEAR(score(total), gain - loss, 1e-9 * (1 + gain + loss));
      }
    }
  }
}

std::int64_t imbalance(const std::vector<std::int64_t>& loads) {
  const std::int64_t peak = *std::max_element(loads.begin(), loads.end());
  std::int64_t sum = 0;
  for (const std::int64_t load : loads) sum += peak - load;
  return sum;
}

TEST(MarginScore, GainsOfSuccessiveAdmissionsAddUpToTheFallOfTheImbalance) {
  Random random(6);
  for (int round = 0; round < 1000; ++round) {
    RunningFleet fleet(2 + random.below(6));
    run_randomly(fleet, random, 6, 3000);
    Projection projection;
    projection.build(fleet.view(), 0, [](const fleet::RunningView&) { return 1; });
    std::vector<std::int64_t> loads;
    for (std::uint32_t g = 0; g < fleet.workers.size(); ++g) loads.push_back(projection.row(g)[0]);
    const std::int64_t before = imbalance(loads);
    MarginScore score(1, static_cast<double>(loads.size()));
    double gained = 0;
    for (int admission = 0; admission < 10; ++admission) {
      const auto g = static_cast<std::uint32_t>(random.below(loads.size()));
      const auto tokens = static_cast<std::int64_t>(random.below(4000));
      score.face(projection, g);
      gained += score(tokens);
      projection.add(g, tokens);
      loads[g] += tokens;
    }
    ASSERT_EQ(gained, static_cast<double>(before - imbalance(loads)));
  }
}

}  // namespace
}  // namespace evenkeel::routing
