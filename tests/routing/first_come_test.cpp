// The simple rules as destination rules of first come, first served: replayed admission by admission.
#include <gtest/gtest.h>

#include "routing/support/running_fleet.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

/// What the rules look at, kept as a plan goes on.
struct Replay {
  explicit Replay(const RunningFleet& fleet) {
    for (const auto& worker : fleet.workers) {
      free.push_back(worker.free_slots());
      requests.push_back(worker.load.in_flight);
      tokens.push_back((worker.load.kv_tokens() + worker.load.queued_prompt + worker.foreign_tokens).value());
    }
  }
  void admit(std::uint32_t worker, std::int64_t prompt) {
    --free[worker];
    ++requests[worker];
    tokens[worker] += 2 * prompt;  // as memory and as prefill owed
  }
  /// How many open workers have less of `measure` than this one.
  [[nodiscard]] int below(const std::vector<std::int64_t>& measure, std::uint32_t worker) const {
    int count = 0;
    for (std::size_t g = 0; g < free.size(); ++g) count += free[g] > 0 && measure[g] < measure[worker] ? 1 : 0;
    return count;
  }
  [[nodiscard]] int open_workers() const {
    return static_cast<int>(std::count_if(free.begin(), free.end(), [](std::int64_t slots) { return slots > 0; }));
  }
  std::vector<std::int64_t> free, requests, tokens;
};

class FirstCome : public ::testing::TestWithParam<std::string_view> {
 protected:
  /// `next` is the pointer of round robin.
  void check(const Replay& replay, std::uint32_t worker, std::size_t next) const {
    ASSERT_GT(replay.free[worker], 0);
    if (GetParam() == "least_requests") {
      ASSERT_EQ(replay.below(replay.requests, worker), 0);
    }
    if (GetParam() == "least_tokens") {
      ASSERT_EQ(replay.below(replay.tokens, worker), 0);
    }
    if (GetParam() == "power_of_two" && replay.open_workers() > 1) {  // never the one that all others are below
      ASSERT_LT(replay.below(replay.requests, worker), replay.open_workers() - 1);
    }
    if (GetParam() == "round_robin") {
      while (replay.free[next % replay.free.size()] == 0) ++next;
      ASSERT_EQ(worker, next % replay.free.size());
    }
  }
};

TEST_P(FirstCome, TheOldestEnterInOrderEachWhereTheRuleSaysAfterThoseBefore) {
  Random random(61);
  auto policy = std::move(*make_policy(GetParam()));
  std::size_t next = 0;
  for (int round = 0; round < 500; ++round) {
    RunningFleet fleet(4);
    run_randomly(fleet, random, 4, 1000);
    WaitingPool pool(fleet, random, random.below(12), 1000, 0);
    Replay replay(fleet);
    const auto open = std::accumulate(replay.free.begin(), replay.free.end(), std::int64_t{0});
    const auto placements = plan(*policy, fleet, pool.waiting, static_cast<std::uint64_t>(round));
    ASSERT_EQ(placements.size(), std::min(pool.waiting.size(), static_cast<std::size_t>(open)));
    for (std::uint32_t i = 0; i < placements.size(); ++i) {
      ASSERT_EQ(placements[i].request, i);
      check(replay, placements[i].worker, next);
      replay.admit(placements[i].worker, pool.waiting[i].prompt_tokens.value());
      next = placements[i].worker + 1;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, FirstCome,
                         ::testing::Values("random", "round_robin", "power_of_two", "least_requests", "least_tokens"));

TEST(LeastTokens, KeepsTheNewcomersOfOnePlanFurtherApartThanTheirKvTokens) {
  // After the first 100 worker 0 holds 100 tokens, and owes them: 200. By tokens alone the next would follow it.
  RunningFleet fleet(2);
  fleet.run(1, 150, 0);
  const auto all = fleet.all();
  const std::vector<fleet::WaitingView> waiting(2, request_for(all, 100));
  auto policy = std::move(*make_policy("least_tokens"));
  const auto placements = plan(*policy, fleet, waiting);
  EXPECT_EQ(placements[0].worker, 0U);
  EXPECT_EQ(placements[1].worker, 1U);
}

}  // namespace
}  // namespace evenkeel::routing
