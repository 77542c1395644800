// When forecasts are made, how they age, and what they say when they have run out.
#include "routing/departures.hpp"

#include <gtest/gtest.h>

#include "routing/support/running_fleet.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

fleet::RunningView request_of_age(std::int64_t age, std::uint64_t id = 7) {
  fleet::RunningView request;
  request.id = RequestId{id};
  request.prompt_tokens = Tokens(100);
  request.generated = age;
  return request;
}

fleet::FleetView at_step(std::int64_t step) {
  fleet::FleetView fleet;
  fleet.step = step;
  return fleet;
}

TEST(Departures, LeaveBeforeTheFirstOffsetThatReachesTheForecast) {
  double answer = 0;
  const auto told = std::make_shared<ToldForecast>([&](const auto&, std::int64_t) { return answer; });
  Departures departures(unguarded(told), 10, 10);
  departures.look(at_step(0), Time{});
  EXPECT_EQ(departures.window(), 10);
  for (const auto& [remaining, offset] : std::vector<std::pair<double, std::int64_t>>{
           {0, 1}, {0.5, 1}, {1, 1}, {1.01, 2}, {3, 3}, {8.2, 9}, {9, 9}, {9.99, 10}, {10, 11}}) {
    answer = remaining;
    EXPECT_EQ(departures.leaves_at(request_of_age(5)), offset) << remaining;
  }
}

TEST(Departures, AgeByAStepAStepAndReachThatMuchLessFar) {
  const auto told = std::make_shared<ToldForecast>([](const fleet::RunningView& request, std::int64_t) {
    return request.generated == 20 ? 4.5 : 1000.0;  // only the age at the refresh has this answer
  });
  Departures departures(unguarded(told), 10, 10);
  for (std::int64_t j = 0; j < 10; ++j) {
    departures.look(at_step(30 + j), Time{});
    ASSERT_EQ(departures.window(), 10 - j);
    // 4.5 is left 0 steps after the refresh, 0.5 is left 4 after: run out, so the request stays.
    const std::int64_t expected = j < 4 ? 5 - j : departures.window() + 1;
    EXPECT_EQ(departures.leaves_at(request_of_age(20 + j)), expected) << j;
  }
}

TEST(Departures, RequestsThatCameSinceTheRefreshStay) {
  const auto told = std::make_shared<ToldForecast>([](const auto&, std::int64_t) { return 2.5; });
  Departures departures(unguarded(told), 8, 4);
  departures.look(at_step(4 + 1), Time{});
  EXPECT_EQ(departures.leaves_at(request_of_age(0)), departures.window() + 1);
  EXPECT_EQ(departures.leaves_at(request_of_age(1)), 2);
  EXPECT_EQ(told->asked, 1);
}

TEST(Departures, AskOnceAPeriodAndTellTheForecastWhatRunsOnce) {
  const auto told = std::make_shared<ToldForecast>([](const auto&, std::int64_t) { return 50.0; });
  Departures departures(unguarded(told), 80, 40);
  for (std::int64_t step = 40; step < 120; ++step) {
    departures.look(at_step(step), Time{});
    for (std::uint64_t id = 1; id <= 1000; ++id) {
      ASSERT_EQ(departures.leaves_at(request_of_age(step, id)), 50 - step % 40);
    }
  }
  EXPECT_EQ(told->asked, 2 * 1000);
  EXPECT_EQ(told->told_running, 2);
}

TEST(Departures, RefreshAtEveryLookWhereNobodyCountsSteps) {
  const auto told = std::make_shared<ToldForecast>([](const auto&, std::int64_t) { return 3.0; });
  Departures departures(unguarded(told), 80, 80);
  for (int look = 0; look < 3; ++look) {
    departures.look(at_step(0), Time{});
    EXPECT_EQ(departures.window(), 80);
    EXPECT_EQ(departures.leaves_at(request_of_age(0)), 3);
  }
  EXPECT_EQ(told->asked, 3);
  EXPECT_EQ(told->told_running, 3);
}

TEST(Departures, PassOnWhatEndedUnlessNothingIsForetold) {
  const auto told = std::make_shared<ToldForecast>([](const auto&, std::int64_t) { return 3.0; });
  Departures departures(unguarded(told), 1, 1);
  departures.ended({}, Time{});
  EXPECT_EQ(told->told_finished, 1);
  Departures blind(nullptr, 0, 1);
  blind.look(at_step(3), Time{});
  blind.ended({}, Time{});
  EXPECT_EQ(blind.window(), 0);
}

}  // namespace
}  // namespace evenkeel::routing
