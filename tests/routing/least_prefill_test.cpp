// The rule for workers that only prefill against brute force over random views.
#include "routing/least_prefill.hpp"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "routing/support/views.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

TEST(LeastPrefill, TakesTheOneThatOwesFewestPromptTokensThenFewestRequests) {
  LeastPrefill policy;
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    Fleet fleet(6);
    fill_randomly(fleet, random);
    const std::vector<std::uint32_t> candidates = {0, 1, 3, 4, 5};
    const auto chosen = place(policy, fleet, request_for(candidates), random).worker;
    const auto key = [&](std::uint32_t index) {
      const fleet::WorkerView& worker = fleet.workers[index];
      return std::pair(worker.load.queued_prompt, worker.requests());
    };
    for (const std::uint32_t other : candidates) EXPECT_LE(key(chosen), key(other));
    EXPECT_NE(std::find(candidates.begin(), candidates.end(), chosen), candidates.end());
  }
}

TEST(LeastPrefill, WhatIsExpectedInThePrefixCacheIsNotOwed) {
  LeastPrefill policy;
  Random random(5);
  EXPECT_TRUE(policy.wants_hits());
  for (int round = 0; round < 2000; ++round) {
    Fleet fleet(6);
    fill_randomly(fleet, random);
    const std::vector<std::uint32_t> candidates = {0, 1, 3, 4, 5};
    fleet::WaitingView request = request_for(candidates);
    request.prompt_tokens = Tokens(2000);
    std::vector<Tokens> hits;
    for (int i = 0; i < 6; ++i) hits.emplace_back(static_cast<std::int64_t>(random.below(2000)));
    request.hits = hits;
    const auto chosen = place(policy, fleet, request, random).worker;
    const auto owed = [&](std::uint32_t index) {
      return fleet.workers[index].load.queued_prompt + Tokens(2000) - hits[index];
    };
    for (const std::uint32_t other : candidates) EXPECT_LE(owed(chosen), owed(other));
  }
}

}  // namespace
}  // namespace evenkeel::routing
