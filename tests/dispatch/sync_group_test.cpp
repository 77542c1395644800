// Sync groups: their steps are counted and timed from tokens alone, and what comes and ends within one step is looked
// at together by a policy that chooses jointly.
#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "dispatch/step_clock.hpp"
#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;
using fleet::Outcome;

/// A barrier group as it is: each step every decoding request gains a token, and lasts fixed + token * largest load.
struct TrueGroup {
  explicit TrueGroup(std::size_t workers) : loads(workers, 0.0) {}
  void step() {
    const double largest = *std::max_element(loads.begin(), loads.end());
    now += from_seconds(0.07 + 2e-7 * largest);
    for (double& load : loads) load += each;
    generated += each * static_cast<double>(loads.size());
    ++steps;
  }
  [[nodiscard]] GroupLoad seen() const {
    return {generated, each * static_cast<double>(loads.size()), *std::max_element(loads.begin(), loads.end())};
  }
  std::vector<double> loads;
  double each = 16;  ///< requests decoding at each worker
  double generated = 0;
  long steps = 0;
  Time now{};
};

TEST(StepClock, CountsAndTimesTheStepsOfABarrierGroup) {
  TrueGroup group(4);
  StepClock clock;
  Time looked{};
  while (group.steps < 3000) {
    group.step();
    for (; looked < group.now; looked += milliseconds(20)) clock.note(looked, group.seen());
  }
  EXPECT_NEAR(clock.steps(), static_cast<double>(group.steps), 2);
  const double truth = 0.07 + 2e-7 * group.seen().largest;
  EXPECT_NEAR(clock.step_s(), truth, 0.1 * truth);
  ASSERT_TRUE(clock.step_time().known());
  EXPECT_NEAR(clock.step_time().token_s, 2e-7, 2e-8);
  EXPECT_NEAR(clock.step_time().of(40'000), 0.078, 0.002);
}

TEST(StepClock, AnIdleGroupMakesNoSteps) {
  StepClock clock;
  for (int i = 0; i < 1000; ++i) clock.note(Time{} + milliseconds(20 * i), {1000, 0, 0});
  EXPECT_EQ(clock.steps(), 0);
  EXPECT_EQ(clock.step_s(), 0);
  EXPECT_FALSE(clock.step_time().known());
}

/// A group of two with two slots each, full, that makes a step every 100 ms, and as many waiting.
class Coupled : public ::testing::Test {
 protected:
  void start(std::string_view policy, std::string group = "ranks") {
    desk.emplace(DispatcherOptions{}, policy);
    for (const char* name : {"a", "b"}) {
      WorkerSpec spec{name, {model_a}, 2};
      spec.group = group;
      workers.push_back(desk->dispatcher.add_worker(spec));
      desk->dispatcher.set_state(workers.back(), WorkerState::routable);
    }
    desk->dispatcher.set_alarm([this](Time due) { rung.push_back(due); });
    running = desk->submit(4, asking());
    for (int step = 0; step < 40; ++step) {
      for (const SlipPtr& slip : running) slip->lease.generated(Tokens(1));
      desk->pass(milliseconds(100));
    }
    rung.clear();
  }
  [[nodiscard]] long placed(const std::vector<SlipPtr>& slips) const {
    return std::count_if(slips.begin(), slips.end(), [](const SlipPtr& slip) { return slip->placed(); });
  }

  std::optional<Desk> desk;
  std::vector<WorkerId> workers;
  std::vector<SlipPtr> running;
  std::vector<Time> rung;
};

TEST_F(Coupled, WhatEndsInOneStepIsPlannedTogether) {
  start("balance");
  const auto waiting = desk->submit(4, asking());
  desk->pass(milliseconds(50));
  rung.clear();
  for (int i = 0; i < 2; ++i) running[static_cast<std::size_t>(i)]->lease.end(Outcome::completed);
  EXPECT_EQ(placed(waiting), 0);
  ASSERT_EQ(rung.size(), 1U);  // one alarm for both
  EXPECT_EQ(rung[0], desk->clock.now() + milliseconds(10));
  desk->dispatcher.plan_due();  // too early
  EXPECT_EQ(placed(waiting), 0);
  desk->clock.set(rung[0]);
  desk->dispatcher.plan_due();
  EXPECT_EQ(placed(waiting), 2);
  desk->dispatcher.plan_due();  // once
  EXPECT_EQ(placed(waiting), 2);
}

TEST_F(Coupled, AnArrivalWaitsForTheSamePlan) {
  start("balance");
  running[0]->lease.end(Outcome::completed);
  const auto late = desk->submit(asking());
  EXPECT_TRUE(late->waits());
  desk->clock.set(rung.at(0));
  desk->dispatcher.plan_due();
  EXPECT_TRUE(late->placed());
}

TEST_F(Coupled, AnAlarmThatIsNotHeardDelaysOnlyToTheNextTick) {
  start("balance");
  running[0]->lease.end(Outcome::completed);
  const auto late = desk->submit(asking());
  desk->pass(milliseconds(50));
  EXPECT_TRUE(late->placed());
}

TEST_F(Coupled, AnIdleGroupIsNotWaitedFor) {
  start("balance");
  for (const SlipPtr& slip : running) slip->lease.end(Outcome::completed);
  desk->pass(milliseconds(50));
  rung.clear();
  EXPECT_TRUE(desk->submit(asking())->placed());
  EXPECT_TRUE(rung.empty());
}

TEST_F(Coupled, NothingIsPutOffForARuleThatLooksAtOneRequestAtATime) {
  start("least_requests");
  const auto waiting = desk->submit(2, asking());
  running[0]->lease.end(Outcome::completed);
  EXPECT_EQ(placed(waiting), 1);
  EXPECT_TRUE(rung.empty());
}

TEST_F(Coupled, NothingIsPutOffForWorkersThatStepByThemselves) {
  start("balance", "");
  const auto waiting = desk->submit(2, asking());
  running[0]->lease.end(Outcome::completed);
  EXPECT_EQ(placed(waiting), 1);
  EXPECT_TRUE(rung.empty());
}

/// What a policy is shown.
class Watching final : public routing::Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "watching"; }
  void plan(std::span<const fleet::WaitingView>, const fleet::FleetView& fleet, Time, Random&,
            std::vector<fleet::Placement>& placements) override {
    steps = fleet.step;
    groups.clear();
    for (const fleet::WorkerView& worker : fleet.workers) groups.push_back(worker.group);
    placements.push_back({0, static_cast<std::uint32_t>(seen++ % fleet.workers.size()), "in_turn", 0, 1});
  }
  std::int64_t steps = 0;
  std::vector<std::uint32_t> groups;
  std::size_t seen = 0;
};

TEST(SyncGroup, PoliciesSeeGroupsAndTheStepsThatOneGroupMade) {
  auto made = std::make_unique<Watching>();
  Watching& policy = *made;
  Desk desk({}, std::move(made));
  const auto join = [&](const char* name, const char* group) {
    WorkerSpec spec{name, {model_a}, 100};
    spec.group = group;
    desk.dispatcher.set_state(desk.dispatcher.add_worker(spec), WorkerState::routable);
  };
  join("a", "left");
  join("b", "left");
  auto slips = desk.submit(2, asking());
  for (int step = 0; step < 100; ++step) {
    for (const SlipPtr& slip : slips) slip->lease.generated(Tokens(1));
    desk.pass(milliseconds(100));
  }
  slips.push_back(desk.submit(asking()));
  EXPECT_NEAR(static_cast<double>(policy.steps), 99, 2);
  EXPECT_EQ(policy.groups, (std::vector<std::uint32_t>{1, 1}));
  join("c", "right");
  join("d", "");
  slips.push_back(desk.submit(asking()));
  EXPECT_EQ(policy.groups, (std::vector<std::uint32_t>{1, 1, 2, 0}));
  EXPECT_EQ(policy.steps, 0);  // not all together
}

}  // namespace
}  // namespace evenkeel::dispatch
