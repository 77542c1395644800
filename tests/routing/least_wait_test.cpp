// least_wait against its formula, computed here once more in another way.
#include "routing/least_wait.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "routing/support/views.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

/// What this request costs at each candidate: its own wait, and what its work adds to each of those there. Added up
/// request by request here. The bare work if no rate is known anywhere.
std::vector<double> waits(const Fleet& fleet, const std::vector<std::uint32_t>& candidates, double prompt) {
  std::vector<double> out;
  for (const std::uint32_t index : candidates) {
    const fleet::WorkerView& w = fleet.workers[index];
    const double open = static_cast<double>(w.load.in_flight) + w.foreign_requests;
    const double own = w.mean_output + prompt * fleet.prompt_weight;
    const double before_mine =
        open * w.mean_output + static_cast<double>(w.load.queued_prompt.value()) * fleet.prompt_weight;
    const double mine = before_mine + own;
    const double others = open * own;
    double rate = w.rate->at(open + 1);
    if (rate == 0) {
      std::vector<double> known;
      for (const std::uint32_t other : candidates) {
        if (fleet.workers[other].rate->known()) known.push_back(fleet.workers[other].rate->at(open + 1));
      }
      for (const double r : known) rate += r / static_cast<double>(known.size());
    }
    out.push_back(rate == 0 ? mine + others : (mine + others) / rate);
  }
  return out;
}

TEST(LeastWait, ChoosesTheSmallestOfItsFormulaOnRandomViews) {
  Random random(21);
  LeastWait policy;
  for (int i = 0; i < 5000; ++i) {
    Fleet fleet(2 + random.below(6));
    fill_randomly(fleet, random);
    const auto candidates = fleet.all();
    const auto prompt = static_cast<std::int64_t>(random.below(5000));
    const auto placement = place(policy, fleet, request_for(candidates, prompt), random);
    const auto wait = waits(fleet, candidates, static_cast<double>(prompt));
    const double least = *std::min_element(wait.begin(), wait.end());
    ASSERT_NEAR(placement.score, least, 1e-8 * (1 + least));
    ASSERT_NEAR(wait[placement.worker], least, 1e-8 * (1 + least));
  }
}

TEST(LeastWait, GivesTheWrittenExample) {
  Fleet fleet(2);
  Random random(22);
  // w0: 3 open of mean 200, 1000 prompt tokens owed, 100/s at 4; own work 200 + 0.1*500 = 250:
  //     (3*200 + 0.1*1000 + 250 + 3*250) / 100 = 17 s
  fleet.workers[0].load = {3, Tokens(1000), Tokens(1000), Tokens(0)};
  fleet.workers[0].mean_output = 200;
  fleet.teach(0, 4, 100);
  // w1: nothing open, 30/s at 1:  (200 + 0.1*500) / 30 = 8.333 s
  fleet.workers[1].mean_output = 200;
  fleet.teach(1, 1, 30);
  const auto all = fleet.all();
  auto placement = place(*std::make_unique<LeastWait>(), fleet, request_for(all, 500), random);
  EXPECT_EQ(placement.worker, 1U);
  EXPECT_NEAR(placement.score, 250.0 / 30, 1e-9);
  // Two foreign requests make w1 the dearer: (2*200 + 250 + 2*250) / 45 = 25.6 s, with 30/s at 1 taken for 45 at 3.
  fleet.workers[1].foreign_requests = 2;
  placement = place(*std::make_unique<LeastWait>(), fleet, request_for(all, 500), random);
  EXPECT_EQ(placement.worker, 0U);
  EXPECT_NEAR(placement.score, 17, 1e-9);
}

TEST(LeastWait, GivesAnUnknownWorkerTheMeanOfTheKnownSoThatItIsTried) {
  Fleet fleet(3);
  Random random(23);
  fleet.teach(0, 1, 100);
  fleet.teach(1, 1, 50);
  fleet.workers[0].load.in_flight = fleet.workers[1].load.in_flight = 2;
  const auto all = fleet.all();
  const auto placement = place(*std::make_unique<LeastWait>(), fleet, request_for(all, 0), random);
  EXPECT_EQ(placement.worker, 2U);
  EXPECT_NEAR(placement.score, 256.0 / 75, 1e-9);
}

TEST(LeastWait, WithoutAnyRateTakesTheLeastWork) {
  Fleet fleet(3);
  Random random(24);
  fleet.workers[0].load = {1, Tokens(20000), Tokens(20000), Tokens(0)};  // 3*256 + 2000
  fleet.workers[1].load = {3, Tokens(100), Tokens(0), Tokens(50)};       // 7*256
  fleet.workers[2].load = {3, Tokens(200), Tokens(200), Tokens(0)};      // 7*256 + 20
  const auto all = fleet.all();
  EXPECT_EQ(place(*std::make_unique<LeastWait>(), fleet, request_for(all, 0), random).worker, 1U);
}

TEST(LeastWait, PrefersTheFasterOfTwoUntilItsQueueIsAsLong) {
  Fleet fleet(2);
  Random random(25);
  for (const double running : {1.0, 4.0, 16.0}) {  // w0 is four times as fast at every level
    fleet.teach(0, running, 40 * running);
    fleet.teach(1, running, 10 * running);
  }
  LeastWait policy;
  std::vector<int> seen(2);
  for (int i = 0; i < 200; ++i) {
    const auto all = fleet.all();
    const auto placement = place(policy, fleet, request_for(all, 0), random);
    ++seen[placement.worker];
    ++fleet.workers[placement.worker].load.in_flight;
  }
  EXPECT_NEAR(seen[0], 160, 8);  // 4 of 5 once both are past saturation
}

}  // namespace
}  // namespace evenkeel::routing
