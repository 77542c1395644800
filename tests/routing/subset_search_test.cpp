// Both searches for the best subset against a walk over all of them.
#include "routing/subset_search.hpp"

#include <set>

#include <gtest/gtest.h>

#include "routing/support/running_fleet.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

/// The highest score of any nonempty choice among sizes[from...] on top of `total`, by taking each or not.
double best_of_all(const std::vector<std::int64_t>& sizes, std::size_t from, std::int64_t limit, std::int64_t total,
                   bool empty, const MarginScore& score) {
  double best = empty ? -1e300 : score(total);
  if (limit == 0) return best;
  for (std::size_t i = from; i < sizes.size(); ++i) {
    best = std::max(best, best_of_all(sizes, i + 1, limit - 1, total + sizes[i], false, score));
  }
  return best;
}

struct Instance {
  std::vector<std::int64_t> sizes;
  std::int64_t limit = 1;
  MarginScore score{1, 1};
};

Instance random_instance(Random& random, std::size_t most) {
  RunningFleet fleet(2 + random.below(3));
  run_randomly(fleet, random, 6, 2000);
  const std::int64_t window = random.below(3) == 0 ? 0 : static_cast<std::int64_t>(random.below(25));
  Projection projection;
  projection.build(fleet.view(), window, [&](const fleet::RunningView& request) {
    return 1 + static_cast<std::int64_t>(mix64(request.id.value) % 30);
  });
  Instance instance;
  const std::uint64_t longest = random.below(2) == 0 ? 30 : 3000;
  instance.sizes.resize(1 + random.below(most));
  for (auto& size : instance.sizes) size = static_cast<std::int64_t>(random.below(longest));
  instance.limit = 1 + static_cast<std::int64_t>(random.below(6));
  instance.score = MarginScore(0.5 + random.unit() / 2, 1 + random.unit() * (random.below(2) == 0 ? 2 : 50));
  instance.score.face(projection, 0);
  return instance;
}

/// Members are distinct, at most `limit`, within `sizes`, and have the score that is claimed.
void expect_honest(const SubsetSearch::Best& best, const Instance& instance) {
  ASSERT_FALSE(best.members.empty());
  ASSERT_LE(static_cast<std::int64_t>(best.members.size()), instance.limit);
  ASSERT_EQ(std::set(best.members.begin(), best.members.end()).size(), best.members.size());
  std::int64_t total = 0;
  for (const std::uint32_t member : best.members) {
    ASSERT_LT(member, instance.sizes.size());
    total += instance.sizes[member];
  }
  ASSERT_EQ(best.score, instance.score(total));
}

TEST(SubsetSearch, ReachableTotalsAndEnumerationFindTheBestOfAllSubsets) {
  Random random(7);
  SubsetSearch search;
  for (int round = 0; round < 10000; ++round) {
    const Instance instance = random_instance(random, 8);
    const double best = best_of_all(instance.sizes, 0, instance.limit, 0, true, instance.score);
    const double slack = 1e-8 * (1 + std::abs(best));
    const auto enumerated = search.enumerate(instance.sizes, instance.limit, instance.score);
    ASSERT_NEAR(enumerated.score, best, slack);
    expect_honest(enumerated, instance);
    const auto reached = search.reach(instance.sizes, instance.limit, instance.score);
    ASSERT_NEAR(reached.score, best, slack);
    expect_honest(reached, instance);
  }
}

TEST(SubsetSearch, ReachesTheBestOfWindowsTooWideToEnumerate) {
  Random random(8);
  SubsetSearch search;
  for (int round = 0; round < 200; ++round) {
    Instance instance = random_instance(random, 40);
    instance.limit = std::min<std::int64_t>(instance.limit, 4);
    const double best = best_of_all(instance.sizes, 0, instance.limit, 0, true, instance.score);
    const auto reached = search.reach(instance.sizes, instance.limit, instance.score);
    ASSERT_NEAR(reached.score, best, 1e-8 * (1 + std::abs(best)));
    expect_honest(reached, instance);
  }
}

TEST(SubsetSearch, SearchesTheFirstOfAWindowThatIsTooMuchWork) {
  RunningFleet fleet(2);
  fleet.run(0, 40'000'000, 0);  // a margin for which a bit a token is too much
  Projection projection;
  projection.build(fleet.view(), 0, [](const fleet::RunningView&) { return 1; });
  Instance instance;
  instance.score = MarginScore(1, 2);
  instance.score.face(projection, 1);
  instance.limit = 2;
  instance.sizes.assign(100, 10'000'000);
  instance.sizes[3] = 11'000'000;
  instance.sizes[11] = 12'000'000;
  instance.sizes[50] = 13'000'000;
  SubsetSearch search;
  const auto best = search.reach(instance.sizes, instance.limit, instance.score);
  expect_honest(best, instance);
  EXPECT_EQ(std::vector(best.members.begin(), best.members.end()), (std::vector<std::uint32_t>{3, 11}));
}

TEST(SubsetSearch, TakesTheEarlierOfEquals) {
  RunningFleet fleet(2);
  fleet.run(0, 100, 0);
  Projection projection;
  projection.build(fleet.view(), 0, [](const fleet::RunningView&) { return 1; });
  MarginScore score(1, 2);
  score.face(projection, 1);  // margin 100
  SubsetSearch search;
  const std::vector<std::int64_t> sizes = {60, 40, 60, 40, 100};
  const auto pair = search.enumerate(sizes, 2, score);
  EXPECT_EQ(std::vector(pair.members.begin(), pair.members.end()), (std::vector<std::uint32_t>{0, 1}));
  const auto single = search.single(std::vector<std::int64_t>{50, 90, 110, 90}, score);
  EXPECT_EQ(single.members[0], 1U);  // 90 and 110 score 90
  EXPECT_EQ(single.score, 90);
}

}  // namespace
}  // namespace evenkeel::routing
