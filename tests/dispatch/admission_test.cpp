// What enters, where and how much: limits, counting at once, what a policy may and may not bring about.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;
using fleet::Outcome;

TEST(Admission, SplitsAHerdEvenlyWithoutAnyReport) {
  for (const std::string_view policy : {"least_requests", "least_tokens", "least_wait", "round_robin"}) {
    Desk desk({}, policy);
    const WorkerId one = desk.worker("one", 100);
    const WorkerId two = desk.worker("two", 100);
    const auto herd = desk.submit(8, asking());
    EXPECT_EQ(desk.in_flight(one), 4) << policy;
    EXPECT_EQ(desk.in_flight(two), 4) << policy;
  }
}

TEST(Admission, CountsAtSelectionWhateverTheAnswerSaysLater) {
  Desk desk({}, "least_tokens");
  const WorkerId one = desk.worker("one", 100);
  const WorkerId two = desk.worker("two", 100);
  const auto burst = desk.submit(6, asking(1, 0, 32000));  // long prompts, no answer yet from anyone
  EXPECT_EQ(desk.in_flight(one), 3);
  EXPECT_EQ(desk.in_flight(two), 3);
  EXPECT_EQ(desk.dispatcher.workers()[0].load.queued_prompt, Tokens(96000));
}

TEST(Admission, HoldsTheSlotUntilTheLeaseEndsAndThenGivesItOn) {
  Desk desk;
  const WorkerId one = desk.worker("one", 1);
  const auto first = desk.submit(asking());
  const auto second = desk.submit(asking());
  ASSERT_TRUE(first->placed());
  ASSERT_TRUE(second->waits());
  desk.pass(seconds(10));
  first->lease.generated(Tokens(500));  // the answer streams, the slot stays taken
  desk.pass(seconds(10));
  EXPECT_TRUE(second->waits());
  first->lease.end(Outcome::completed);
  EXPECT_TRUE(second->placed());
  EXPECT_EQ(second->told, 1);
  EXPECT_EQ(desk.in_flight(one), 1);
  EXPECT_EQ(second->receipt.waited, seconds(20));
}

TEST(Admission, NeverCleansUpWhatStillRuns) {
  Desk desk;
  const WorkerId one = desk.worker("one", 2);
  const auto long_one = desk.submit(asking());
  desk.pass(seconds(1200));
  EXPECT_EQ(desk.in_flight(one), 1);
  EXPECT_TRUE(long_one->placed());
}

TEST(Admission, WritesTheReceipt) {
  Desk desk({}, "round_robin");
  desk.worker("one", 10);
  const WorkerId two = desk.worker("two", 10);
  desk.worker("three", 0);
  Submission retry = asking();
  retry.attempt = 2;
  retry.excluded.add(WorkerId{0});
  const auto slip = desk.submit(retry);
  ASSERT_TRUE(slip->placed());
  EXPECT_EQ(slip->lease.worker(), two);
  EXPECT_EQ(slip->receipt.policy, "round_robin");
  EXPECT_EQ(slip->receipt.reason, "next");
  EXPECT_EQ(slip->receipt.candidates, 1U);
  EXPECT_EQ(slip->receipt.attempt, 2);
  EXPECT_EQ(slip->receipt.waited, Duration(0));
  EXPECT_LT(slip->receipt.signal_age, Duration(0)) << "it never reported: that is no age of zero";
}

TEST(Admission, LetsAPolicyHold) {
  bool holding = true;
  Desk desk({}, std::make_unique<Holding>(holding));
  desk.worker("one", 10);
  const auto slips = desk.submit(3, asking());
  desk.pass(seconds(1));
  for (const auto& slip : slips) EXPECT_TRUE(slip->waits());
  holding = false;
  desk.pass(milliseconds(50));
  for (const auto& slip : slips) EXPECT_TRUE(slip->placed());
  EXPECT_EQ(slips[0]->receipt.reason, "let_go");
}

TEST(Admission, LetsAPolicyPlaceTwoAtOnce) {
  Desk desk({}, std::make_unique<InPairs>());
  const WorkerId one = desk.worker("one", 3);
  const WorkerId two = desk.worker("two", 2);
  auto slips = desk.submit(5, asking());
  EXPECT_TRUE(slips[0]->placed() && slips[1]->placed());
  EXPECT_EQ(slips[0]->lease.worker(), slips[1]->lease.worker());
  EXPECT_TRUE(slips[2]->placed() && slips[3]->placed());
  EXPECT_EQ(slips[2]->lease.worker(), slips[3]->lease.worker());
  EXPECT_TRUE(slips[4]->waits()) << "one slot is free, but it comes in pairs";
  EXPECT_EQ(desk.in_flight(one), 2);
  EXPECT_EQ(desk.in_flight(two), 2);
  slips.push_back(desk.submit(asking()));
  slips[0]->lease.end(Outcome::completed);
  EXPECT_TRUE(slips[4]->placed() && slips[5]->placed());
}

/// Everything that was submitted, kept so that the limits can be checked from the outside.
struct Crowd {
  std::vector<SlipPtr> slips;

  [[nodiscard]] std::map<std::uint32_t, std::int64_t> placed() const {
    std::map<std::uint32_t, std::int64_t> count;
    for (const auto& slip : slips) {
      if (slip->placed()) ++count[slip->lease.worker().value];
    }
    return count;
  }
  SlipPtr random_one(Random& random) const { return slips[random.below(slips.size())]; }
};

void random_operation(Desk& desk, Crowd& crowd, Random& random, std::vector<std::int64_t>& highest) {
  const auto worker = static_cast<std::uint32_t>(random.below(highest.size()));
  const std::uint64_t what = random.below(20);
  if (what < 9) {
    Submission ask = asking(random.below(5), static_cast<std::int64_t>(random.below(3)));
    ask.model = random.below(3) == 0 ? model_b : model_a;
    if (random.below(4) == 0) ask.excluded.add(WorkerId{worker});
    crowd.slips.push_back(desk.submit(ask));
  } else if (what < 15 && !crowd.slips.empty()) {
    const auto slip = crowd.random_one(random);
    if (random.below(2) == 0) slip->lease.generated(Tokens(3));
    slip->lease.end(fleet::all_outcomes[random.below(fleet::all_outcomes.size())]);
  } else if (what < 16 && !crowd.slips.empty()) {
    const auto slip = crowd.random_one(random);
    if (slip->queued) {
      const bool waited = slip->waits();
      ASSERT_EQ(desk.dispatcher.cancel(*slip->queued), waited);
      if (waited) slip->told = 1;
    }
  } else if (what < 17) {
    constexpr WorkerState states[] = {WorkerState::routable, WorkerState::routable, WorkerState::unroutable,
                                      WorkerState::draining};
    desk.dispatcher.set_state(WorkerId{worker}, states[random.below(4)]);
  } else if (what < 18) {
    // Raised only: lowering leaves what runs above the limit, rightly.
    highest[worker] += static_cast<std::int64_t>(random.below(2));
    desk.dispatcher.set_max_in_flight(WorkerId{worker}, highest[worker]);
  } else {
    desk.pass(milliseconds(static_cast<std::int64_t>(random.below(400))));
  }
}

class RandomOperations : public ::testing::TestWithParam<std::string_view> {
 protected:
  static std::unique_ptr<routing::Policy> policy() {
    if (GetParam() == "wild") return std::make_unique<Wild>();
    if (GetParam() == "in_pairs") return std::make_unique<InPairs>();
    return std::move(*routing::make_policy(GetParam()));
  }
};

TEST_P(RandomOperations, KeepEveryLimitAndTellEachRequestOnce) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    DispatcherOptions options;
    options.pool_requests = 20;
    options.overtake_cap = 3;
    Desk desk(options, policy(), seed);
    std::vector<std::int64_t> highest = {1, 2, 3, 2};
    for (std::size_t i = 0; i < highest.size(); ++i) {
      desk.worker("w" + std::to_string(i), highest[i],
                  i == 0   ? std::vector{model_b}
                  : i == 3 ? std::vector{model_a}
                           : std::vector{model_a, model_b});
    }
    Crowd crowd;
    for (int i = 0; i < 1500; ++i) {
      random_operation(desk, crowd, random, highest);
      const auto placed = crowd.placed();
      for (const auto& status : desk.dispatcher.workers()) {
        const auto found = placed.find(status.id.value);
        const std::int64_t mine = found == placed.end() ? 0 : found->second;
        ASSERT_EQ(status.load.in_flight, mine) << "seed " << seed << ", operation " << i;
        ASSERT_LE(status.load.in_flight, highest[status.id.value]) << "seed " << seed << ", operation " << i;
      }
      const auto waiting =
          std::count_if(crowd.slips.begin(), crowd.slips.end(), [](const auto& s) { return s->waits(); });
      ASSERT_EQ(desk.dispatcher.pool().waiting, static_cast<std::size_t>(waiting));
      ASSERT_LE(waiting, 20);
      ASSERT_TRUE(desk.dispatcher.sound());
    }
    desk.dispatcher.close();
    for (const auto& slip : crowd.slips) {
      slip->lease.end(Outcome::cancelled);
      ASSERT_EQ(slip->told, 1);
    }
    for (const auto& status : desk.dispatcher.workers()) EXPECT_EQ(status.load.in_flight, 0);
    EXPECT_EQ(desk.dispatcher.pool().waiting, 0U);
    EXPECT_EQ(desk.dispatcher.pool().bytes, Bytes(0));
  }
}

TEST_P(RandomOperations, NeverSendARequestWhereItMustNotGo) {
  Random random(31);
  Desk desk({}, policy(), 3);
  desk.worker("only_a", 2, {model_a});
  desk.worker("both", 3, {model_a, model_b});
  desk.worker("only_b", 2, {model_b});
  Crowd crowd;
  std::vector<Submission> asked;
  for (int i = 0; i < 600; ++i) {
    Submission ask = asking(random.below(3));
    ask.model = random.below(2) == 0 ? model_b : model_a;
    if (random.below(2) == 0) ask.excluded.add(WorkerId{static_cast<std::uint32_t>(random.below(3))});
    asked.push_back(ask);
    crowd.slips.push_back(desk.submit(ask));
    if (random.below(3) > 0) crowd.random_one(random)->lease.end(Outcome::completed);
    for (std::size_t r = 0; r < asked.size(); ++r) {
      if (!crowd.slips[r]->placed()) continue;
      const WorkerId at = crowd.slips[r]->lease.worker();
      ASSERT_FALSE(asked[r].excluded.contains(at));
      ASSERT_NE(at, WorkerId{asked[r].model == model_a ? 2U : 0U});
    }
  }
  for (const auto& slip : crowd.slips) slip->lease.end(Outcome::completed);
}

INSTANTIATE_TEST_SUITE_P(Policies, RandomOperations,
                         ::testing::Values("random", "round_robin", "power_of_two", "least_requests", "least_tokens",
                                           "least_wait", "consistent_hash", "in_pairs", "wild"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Admission, GivesTheSamePlacementsForTheSameCallsAndSeed) {
  const auto run = [](std::string_view policy, std::uint64_t seed, Tokens hidden_output) {
    Desk desk({}, policy, seed);
    for (int i = 0; i < 4; ++i) desk.worker("w" + std::to_string(i), 3);
    Random random(77);
    std::vector<std::uint32_t> places;
    std::vector<SlipPtr> slips;
    for (int i = 0; i < 400; ++i) {
      slips.push_back(desk.submit(asking(random.below(4), 0, static_cast<std::int64_t>(random.below(3000)))));
      if (i % 3 > 0) {
        const auto& slip = slips[random.below(slips.size())];
        slip->lease.end(Outcome::client_fault);
      }
      desk.pass(milliseconds(20));
    }
    // The lengths still to come are nowhere in what was asked; what the leases go on to produce changes no past. (It
    // may change what follows: a policy may learn from what has ended.)
    for (const auto& slip : slips) places.push_back(slip->placed() ? slip->lease.worker().value : 99);
    for (const auto& slip : slips) {
      slip->lease.generated(hidden_output);
      slip->lease.end(Outcome::completed);
    }
    return places;
  };
  for (const std::string_view policy : routing::policy_names()) {
    EXPECT_EQ(run(policy, 5, Tokens(10)), run(policy, 5, Tokens(4000))) << policy;
  }
  EXPECT_NE(run("random", 5, Tokens(10)), run("random", 6, Tokens(10)));
}

TEST(Admission, AFullModelDoesNotBlockAnother) {
  Desk desk;
  desk.worker("a", 1, {model_a});
  desk.worker("b", 5, {model_b});
  const auto backlog = desk.submit(50, asking());
  Submission other = asking();
  other.model = model_b;
  const auto slip = desk.submit(other);
  EXPECT_TRUE(slip->placed());
  EXPECT_EQ(desk.dispatcher.pool().waiting, 49U);
}

TEST(Admission, GivesAFreedSlotOfASharedWorkerToTheModelThatWaitsLonger) {
  Desk desk;
  desk.worker("shared", 1, {model_a, model_b});
  const auto running = desk.submit(asking());
  std::vector<ModelId> entered;
  std::vector<SlipPtr> slips;
  const auto ask = [&](ModelId model) {
    Submission what = asking();
    what.model = model;
    slips.push_back(desk.submit(what, [&entered, model](Slip&) { entered.push_back(model); }));
  };
  for (const ModelId model : {model_b, model_a, model_b, model_b, model_a, model_b}) ask(model);
  running->lease.end(Outcome::completed);
  while (true) {
    const auto holder = std::find_if(slips.begin(), slips.end(), [](const auto& slip) { return slip->placed(); });
    if (holder == slips.end()) break;
    (*holder)->lease.end(Outcome::completed);
  }
  EXPECT_EQ(entered, (std::vector{model_b, model_a, model_b, model_b, model_a, model_b}));
}

TEST(Admission, PlacesANewcomerBesideAFullPoolThatCannotUseTheFreeSlot) {
  DispatcherOptions options;
  options.pool_requests = 2;
  Desk desk(options);
  const WorkerId failing = desk.worker("failing", 4);
  desk.worker("busy", 1);
  Submission retry = asking();
  retry.excluded.add(failing);
  const auto retries = desk.submit(3, retry);  // one runs, two fill the pool
  EXPECT_EQ(desk.dispatcher.pool().waiting, 2U);
  const auto newcomer = desk.submit(asking());
  EXPECT_TRUE(newcomer->placed()) << "refused although a slot is free for it";
  EXPECT_EQ(desk.waiters_made, 2);
}

TEST(Admission, SurvivesWaitersThatDropWhatTheyAreGranted) {
  Desk desk;
  desk.worker("one", 1);
  const auto running = desk.submit(asking());
  std::vector<SlipPtr> gone;
  for (int i = 0; i < 1000; ++i) {  // clients that left at the moment of the grant
    gone.push_back(desk.submit(asking(), [](Slip& slip) { slip.lease.end(Outcome::cancelled); }));
  }
  running->lease.end(Outcome::completed);
  for (const auto& slip : gone) ASSERT_EQ(slip->told, 1);
  EXPECT_EQ(desk.dispatcher.pool().waiting, 0U);
  EXPECT_EQ(desk.in_flight(WorkerId{0}), 0);
}

TEST(Admission, LowersALimitWithoutEndingWhatRuns) {
  Desk desk;
  const WorkerId one = desk.worker("one", 4);
  const auto slips = desk.submit(4, asking());
  desk.dispatcher.set_max_in_flight(one, 2);
  const auto next = desk.submit(asking());
  EXPECT_TRUE(next->waits());
  slips[0]->lease.end(Outcome::completed);
  slips[1]->lease.end(Outcome::completed);
  EXPECT_TRUE(next->waits());
  slips[2]->lease.end(Outcome::completed);
  EXPECT_TRUE(next->placed());
  EXPECT_EQ(desk.in_flight(one), 2);
}

}  // namespace
}  // namespace evenkeel::dispatch
