// The forecast as it is told of ends and of what is in service.
#include "forecast/survival.hpp"

#include <cmath>
#include <deque>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/support/allocations.hpp"
#include "forecast/support/lives.hpp"

namespace evenkeel::forecast {
namespace {

using namespace testing;

TEST(Survival, KnowsNothingAtFirst) {
  const Survival forecast;
  EXPECT_EQ(forecast.remaining(in_service(1, 10), 80), 80);
  EXPECT_EQ(forecast.survival(in_service(1, 10), 80), 1);
}

TEST(Survival, ClampsWhatMakesNoSense) {
  Survival forecast;
  for (std::uint64_t i = 0; i < 100; ++i) forecast.finished(ended(i, 50), Time{});
  EXPECT_EQ(forecast.remaining(in_service(1, -5), 80), forecast.remaining(in_service(1, 0), 80));
  EXPECT_EQ(forecast.survival(in_service(1, 5), -1), 1);
  EXPECT_EQ(forecast.remaining(in_service(1, 5), 0), 1);
}

/// `slots` requests at a time, each replaced when it ends, in lockstep; the forecast looks once in `every` steps.
struct Service {
  struct Request {
    std::uint64_t id;
    std::int64_t age;
    std::int64_t length;
  };
  Service(std::size_t slots, std::uint64_t seed) : random(seed) {
    for (std::size_t i = 0; i < slots; ++i) enter();
  }
  void enter() {
    const auto length = std::clamp<std::int64_t>(std::llround(random.lognormal(mean, 0.9)), 1, 16'384);
    requests.push_back({next++, 0, length});
  }
  void step(Survival& forecast, bool looks) {
    std::size_t kept = 0;
    const std::size_t count = requests.size();
    std::vector<Request> over;
    for (std::size_t i = 0; i < count; ++i) {
      if (++requests[i].age == requests[i].length) {
        over.push_back(requests[i]);
      } else {
        requests[kept++] = requests[i];
      }
    }
    requests.resize(kept);
    for (const Request& request : over) {
      forecast.finished(ended(request.id, request.length), Time{});
      ends.push_back(request.length);
      enter();
    }
    if (!looks) return;
    std::vector<fleet::RunningView> views;
    for (const Request& request : requests) views.push_back(in_service(request.id, request.age));
    look(forecast, views);
  }
  Random random;
  double mean = 400;
  std::uint64_t next = 1;
  std::vector<Request> requests;
  std::vector<std::int64_t> ends;
};

double true_survival(double length, double mean) {
  const double s2 = std::log1p(0.9 * 0.9);
  return 0.5 * std::erfc((std::log(length) - std::log(mean) + s2 / 2) / std::sqrt(2 * s2));
}

TEST(Survival, OfAYoungHistoryDoesNotTakeShortLivesForAll) {
  double looking = 0, blind = 0, naive = 0;
  constexpr int runs = 30;
  for (int run = 0; run < runs; ++run) {
    Survival sees, does_not;
    Service one(256, static_cast<std::uint64_t>(run)), other(256, static_cast<std::uint64_t>(run));
    look(sees, {});
    for (int step = 0; step < 350; ++step) {
      one.step(sees, true);
      other.step(does_not, false);
    }
    looking += sees.survival_at(0, 300) / runs;
    blind += does_not.survival_at(0, 300) / runs;
    naive += RawLaw{one.ends}.beyond(300) / static_cast<double>(one.ends.size()) / runs;
  }
  const double truth = true_survival(300.5, 400);
  EXPECT_NEAR(looking, truth, 0.02);
  EXPECT_LT(naive, 0.5 * truth);  // what ends in the first 350 steps is short
  EXPECT_LT(blind, 0.5 * truth);
}

TEST(Survival, FollowsALawThatDrifts) {
  Survival forecast(1000);
  Service service(128, 7);
  look(forecast, {});
  const auto run_until = [&](std::size_t ends) {
    while (service.ends.size() < ends) service.step(forecast, true);
  };
  run_until(4000);
  EXPECT_NEAR(forecast.survival_at(0, 400), true_survival(400.5, 400), 0.04);
  service.mean = 1600;
  run_until(4000 + 6000);
  EXPECT_NEAR(forecast.survival_at(0, 400), true_survival(400.5, 1600), 0.04);
  service.mean = 200;
  run_until(10'000 + 6000);
  EXPECT_NEAR(forecast.survival_at(0, 400), true_survival(400.5, 200), 0.04);
}

TEST(Survival, TakesNoSidesInAnOldHistory) {
  // Looking must not push the hazard down once the history is old: what is seen of a life is counted once.
  Survival forecast(500);
  Service service(256, 8);
  look(forecast, {});
  double sum = 0;
  int asked = 0;
  while (service.ends.size() < 30'000) {
    service.step(forecast, true);
    if (service.ends.size() < 5000) continue;
    sum += forecast.survival_at(300, 80);
    ++asked;
  }
  EXPECT_NEAR(sum / asked, true_survival(380.5, 400) / true_survival(300.5, 400), 0.01);
}

TEST(Survival, CountsThoseBrokenOffAsNotOver) {
  Survival forecast;
  for (std::uint64_t i = 0; i < 500; ++i) {
    forecast.finished(ended(2 * i, 200), Time{});
    forecast.finished(ended(2 * i + 1, 50, 0, 100, fleet::Outcome::cancelled), Time{});
  }
  EXPECT_EQ(forecast.survival_at(0, 199), 1);
  EXPECT_NEAR(forecast.survival_at(0, 200), 0, 1e-9);
  forecast.finished(ended(5000, 0), Time{});  // one that never decoded says nothing
  EXPECT_EQ(forecast.survival_at(0, 199), 1);
}

TEST(Survival, LearnsNothingOfLivesItOnlyMetOld) {
  // Requests of age 500 at the first look: that they reached 500 is no evidence that others do.
  Survival forecast;
  std::vector<fleet::RunningView> old;
  for (std::uint64_t i = 0; i < 1000; ++i) old.push_back(in_service(i, 500));
  look(forecast, old);
  for (std::uint64_t i = 0; i < 200; ++i) forecast.finished(ended(10'000 + i, i % 2 == 0 ? 100 : 400), Time{});
  EXPECT_NEAR(forecast.survival_at(0, 100), 0.5, 0.02);
}

TEST(Survival, LooksWithoutAllocatingOnceItKnowsTheCrowd) {
  Survival forecast;
  std::vector<fleet::RunningView> crowd;
  for (std::uint64_t i = 0; i < 300; ++i) crowd.push_back(in_service(i, 10));
  look(forecast, crowd);
  fleet::WorkerView worker;
  worker.running = crowd;
  const std::vector<fleet::WorkerView> workers = {worker};
  fleet::FleetView view;
  view.workers = workers;
  for (std::uint64_t i = 0; i < 200; ++i) forecast.finished(ended(1000 + i, 30), Time{});
  forecast.running(view, Time{});
  const std::uint64_t before = allocations();
  for (std::uint64_t i = 0; i < 500; ++i) {
    forecast.finished(ended(2000 + i, 30), Time{});
    forecast.running(view, Time{});
  }
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace evenkeel::forecast
