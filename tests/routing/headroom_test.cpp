// Headroom-sampled routing on views that stand still, against the exact law of sampling without replacement.
#include "routing/headroom.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "routing/support/views.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

/// Workers whose headroom in KV memory falls with their index.
struct GradedFleet : Fleet {
  explicit GradedFleet(std::size_t count) : Fleet(count, 1000) {
    for (std::size_t i = 0; i < count; ++i) {
      workers[i].kv_capacity = Tokens(100'000);
      workers[i].load.prompt_tokens = Tokens(static_cast<std::int64_t>(1000 * i));
    }
  }
};

TEST(Headroom, RankWinsWithTheProbabilityOfTheBestOfASample) {
  constexpr std::size_t workers = 8;
  const GradedFleet fleet(workers);
  for (const std::size_t d : {1U, 2U, 3U}) {
    Headroom policy({d, 100, 65536, false});
    Random random(7 + d);
    std::vector<double> seen(workers);
    constexpr int draws = 40000;
    for (int i = 0; i < draws; ++i) ++seen[place(policy, fleet, request_for(fleet.all()), random).worker];
    // Rank r of N wins if it is drawn and none better: C(N - 1 - r, d - 1) / C(N, d).
    const auto choose = [](std::size_t n, std::size_t k) {
      double product = 1;
      for (std::size_t i = 0; i < k; ++i)
        product *= (static_cast<double>(n) - static_cast<double>(i)) / static_cast<double>(i + 1);
      return n < k ? 0.0 : product;
    };
    for (std::size_t r = 0; r < workers; ++r) {
      const double expected = draws * choose(workers - 1 - r, d - 1) / choose(workers, d);
      EXPECT_NEAR(seen[r], expected, 4 * std::sqrt(expected + 1)) << d << " " << r;
    }
  }
}

/// Twenty decisions against one snapshot of 32 workers: the mean worst load is 3.080 for d = 2 (exact law), 20 for the
/// argmax.
TEST(Headroom, OnAFrozenSnapshotHerdsAsPublished) {
  const GradedFleet fleet(32);
  const auto mean_worst = [&](const std::string& name) {
    auto policy = std::move(*make_policy(name));
    Random random(1);
    double sum = 0;
    constexpr int trials = 6000;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<int> load(32);
      for (int k = 0; k < 20; ++k) ++load[place(*policy, fleet, request_for(fleet.all()), random).worker];
      sum += *std::max_element(load.begin(), load.end());
    }
    return sum / trials;
  };
  EXPECT_DOUBLE_EQ(mean_worst("headroom_argmax"), 20);
  EXPECT_NEAR(mean_worst("headroom"), 3.080, 0.04);
  EXPECT_NEAR(mean_worst("headroom[d=1]"), 2.688, 0.04);
  EXPECT_NEAR(mean_worst("headroom[d=4]"), 4.046, 0.05);
}

/// In one plan each placement counts before the next: what debits do.
TEST(Headroom, PlacementsOfOnePlanCountAtOnce) {
  Fleet fleet(10, 1000);
  for (auto& worker : fleet.workers) worker.kv_capacity = Tokens(100'000);
  auto policy = std::move(*make_policy("headroom_argmax"));
  Random random(1);
  const auto all = fleet.all();
  const std::vector<fleet::WaitingView> waiting(20, request_for(all, 5000));
  std::vector<fleet::Placement> placements;
  policy->plan(waiting, {fleet.workers}, {}, random, placements);
  std::vector<int> load(10);
  for (const auto& placement : placements) ++load[placement.worker];
  EXPECT_EQ(load, std::vector<int>(10, 2));
}

TEST(Headroom, GoesByWhateverIsShortest) {
  Fleet fleet(3, 10);
  for (auto& worker : fleet.workers) worker.kv_capacity = Tokens(10'000);
  fleet.workers[0].load.in_flight = 8;                   // 0.1 of slots is left after it
  fleet.workers[1].load.prompt_tokens = Tokens(9'000);   // nothing of KV memory
  fleet.workers[2].load.queued_prompt = Tokens(20'000);  // two thirds of prefill
  Headroom policy({0, 100, 65536, true});
  Random random(1);
  const auto placement = place(policy, fleet, request_for(fleet.all(), 900), random);
  EXPECT_EQ(placement.worker, 2U);
  EXPECT_EQ(placement.reason, "most_prefill_headroom");
  EXPECT_NEAR(placement.score, (65536.0 - 20'000 - 900) / 65536, 1e-12);
  fleet.workers[2].foreign_tokens = Tokens(9'500);
  EXPECT_EQ(place(policy, fleet, request_for(fleet.all(), 900), random).reason, "most_slot_headroom");
}

TEST(Headroom, TakesParametersWithinBounds) {
  EXPECT_TRUE(make_policy("headroom[d=3,output=500,prefill=8192]").has_value());
  EXPECT_FALSE(make_policy("headroom[d=0]").has_value());
  EXPECT_FALSE(make_policy("headroom_argmax[d=2]").has_value());
}

}  // namespace
}  // namespace evenkeel::routing
