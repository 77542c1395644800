#include "load/schedule.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::load {
namespace {

using namespace std::chrono_literals;
using workload::no_index;
using workload::RequestIndex;
using workload::Trace;

void add(Trace& trace, Duration arrival, RequestIndex after = no_index, Duration think = {}) {
  workload::TraceRequest request;
  request.arrival = arrival;
  request.after = after;
  request.think = think;
  trace.requests.push_back(request);
}

std::vector<RequestIndex> started(Schedule& schedule, Duration now) {
  std::vector<RequestIndex> places;
  while (const auto start = schedule.start(now)) places.push_back(start->place);
  return places;
}

using Places = std::vector<RequestIndex>;

TEST(Schedule, StartsRequestsAtTheirArrivals) {
  Trace trace;
  for (const auto at : {0s, 1s, 1s, 3s}) add(trace, at);
  Schedule schedule(trace, 0);
  EXPECT_EQ(started(schedule, 0s), (Places{0}));
  EXPECT_EQ(schedule.next_due(), Duration(1s));
  EXPECT_EQ(started(schedule, 999ms), Places{});
  EXPECT_EQ(started(schedule, 2s), (Places{1, 2}));  // late is not lost
  EXPECT_EQ(started(schedule, 3s), (Places{3}));
  EXPECT_EQ(schedule.next_due(), std::nullopt);
  for (RequestIndex place = 0; place < 4; ++place) schedule.ended(place, 4s);
  EXPECT_TRUE(schedule.finished());
}

TEST(Schedule, ATurnStartsWhenTheOneBeforeHasEndedAndItsThinkTimeHasPassed) {
  Trace trace;
  add(trace, 0s);
  add(trace, 1s, 0, 5s);  // recorded at 1 s, which does not count
  add(trace, 2s);
  add(trace, 3s, 0, 2s);  // a second follower of the first
  Schedule schedule(trace, 0);
  EXPECT_EQ(started(schedule, 10s), (Places{0, 2}));
  EXPECT_EQ(schedule.next_due(), std::nullopt);
  schedule.ended(0, 20s);
  EXPECT_EQ(schedule.next_due(), Duration(22s));
  EXPECT_EQ(started(schedule, 22s), (Places{3}));
  EXPECT_EQ(started(schedule, 24999ms), Places{});
  const auto start = schedule.start(26s);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->place, 1U);
  EXPECT_EQ(start->due, Duration(25s));  // not the time it was looked at
}

TEST(Schedule, WhatTheCapHoldsBackKeepsItsDueTimeAndItsTurn) {
  Trace trace;
  for (const auto at : {0s, 1s, 2s}) add(trace, at);
  Schedule schedule(trace, 1);
  auto start = schedule.start(0s);
  ASSERT_TRUE(start.has_value());
  EXPECT_FALSE(start->held);
  EXPECT_FALSE(schedule.start(5s).has_value());
  EXPECT_EQ(schedule.waiting(), 2U);
  schedule.ended(0, 6s);
  start = schedule.start(6s);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->place, 1U);
  EXPECT_EQ(start->due, Duration(1s));
  EXPECT_TRUE(start->held);
  EXPECT_FALSE(schedule.start(6s).has_value());
}

/// 2,000 requests in random chains with random services; the rules are checked from outside, step by step.
TEST(Schedule, NeitherTheCapNorTheOrderOfASessionIsEverBroken) {
  constexpr std::size_t cap = 7;
  Random random(3);
  Trace trace;
  for (RequestIndex i = 0; i < 2000; ++i) {
    const bool follows = i > 0 && random.below(3) == 0;
    add(trace, Duration(1ms) * i, follows ? static_cast<RequestIndex>(random.below(i)) : no_index,
        Duration(1ms) * random.below(20));
  }
  Schedule schedule(trace, cap);
  std::multimap<Duration, RequestIndex> running;
  std::vector<Duration> end_of(trace.requests.size(), Duration::max());
  Duration now{};
  std::size_t ends = 0;
  while (!schedule.finished()) {
    while (const auto start = schedule.start(now)) {
      const auto& request = trace.requests[start->place];
      const Duration due = request.after == no_index ? request.arrival : end_of[request.after] + request.think;
      ASSERT_EQ(start->due, due);
      ASSERT_GE(now, due);
      running.emplace(now + Duration(1ms) * (1 + random.below(30)), start->place);
    }
    ASSERT_LE(running.size(), cap);
    ASSERT_EQ(running.size(), schedule.running());
    Duration next = schedule.next_due().value_or(Duration::max());
    if (!running.empty()) next = next <= now ? running.begin()->first : std::min(next, running.begin()->first);
    ASSERT_NE(next, Duration::max());
    now = std::max(now, next);
    while (!running.empty() && running.begin()->first <= now) {
      const auto place = running.begin()->second;
      running.erase(running.begin());
      end_of[place] = now;
      schedule.ended(place, now);
      ++ends;
    }
  }
  EXPECT_EQ(ends, trace.requests.size());
}

}  // namespace
}  // namespace evenkeel::load
