// Projected loads against a loop over every request at every offset.
#include "routing/projection.hpp"

#include <gtest/gtest.h>

#include "routing/support/running_fleet.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

/// From 1 to window + 1, by the request's id.
std::int64_t any_offset(const fleet::RunningView& request, std::int64_t window) {
  return 1 + static_cast<std::int64_t>(mix64(request.id.value) % static_cast<std::uint64_t>(window + 1));
}

TEST(Projection, EqualsALoopOverEveryRequestAtEveryOffset) {
  Random random(3);
  Projection projection;
  for (int round = 0; round < 300; ++round) {
    RunningFleet fleet(1 + random.below(6));
    run_randomly(fleet, random, 8, 5000);
    const auto window = static_cast<std::int64_t>(random.below(30));
    projection.build(fleet.view(), window,
                     [&](const fleet::RunningView& request) { return any_offset(request, window); });
    ASSERT_EQ(projection.offsets(), static_cast<std::size_t>(window) + 1);
    for (std::int64_t h = 0; h <= window; ++h) {
      std::int64_t peak = 0;
      for (std::uint32_t g = 0; g < fleet.workers.size(); ++g) {
        std::int64_t load = fleet.workers[g].foreign_tokens.value();
        for (const fleet::RunningView& request : fleet.running[g]) {
          if (h < any_offset(request, window)) load += request.prompt_tokens.value() + request.generated + h;
        }
        ASSERT_EQ(projection.row(g)[static_cast<std::size_t>(h)], load);
        peak = std::max(peak, load);
      }
      ASSERT_EQ(projection.peak()[static_cast<std::size_t>(h)], peak);
    }
  }
}

TEST(Projection, RaisesRowAndPeakByWhatIsAdded) {
  RunningFleet fleet(2);
  fleet.run(0, 100, 0);
  fleet.run(1, 40, 10);
  Projection projection;
  projection.build(fleet.view(), 2, [](const fleet::RunningView& request) { return request.id.value == 1 ? 2 : 3; });
  // worker 0: 100, 101, gone; worker 1: 50, 51, 52
  EXPECT_EQ(std::vector(projection.row(0).begin(), projection.row(0).end()), (std::vector<std::int64_t>{100, 101, 0}));
  EXPECT_EQ(projection.slack(0), 0);
  EXPECT_EQ(projection.slack(1), 0);
  projection.add(1, 20);
  EXPECT_EQ(std::vector(projection.row(1).begin(), projection.row(1).end()), (std::vector<std::int64_t>{70, 71, 72}));
  EXPECT_EQ(std::vector(projection.peak().begin(), projection.peak().end()), (std::vector<std::int64_t>{100, 101, 72}));
  projection.add(0, 75, 1);
  EXPECT_EQ(std::vector(projection.peak().begin(), projection.peak().end()), (std::vector<std::int64_t>{175, 177, 77}));
  EXPECT_EQ(projection.slack(1), 5);
}

}  // namespace
}  // namespace evenkeel::routing
