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

}  // namespace
}  // namespace evenkeel::routing
