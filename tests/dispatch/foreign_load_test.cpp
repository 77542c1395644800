// What an engine reports beyond ours: the interval rule against brute force, and against a fleet in which a
// rule that looks only at the moment a report arrives is seen to fail.
#include <array>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "dispatch/support/world.hpp"
#include "effort.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;
using fleet::Outcome;

EngineReport heard(const Desk& desk, double running, Duration round_trip = {}) {
  EngineReport report;
  report.received = desk.clock.now();
  report.asked = report.received - round_trip;
  report.running = running;
  return report;
}

TEST(ForeignLoad, IsWhatIsReportedBeyondOurs) {
  Desk desk;
  const WorkerId one = desk.worker("one", 100);
  const auto ours = desk.submit(3, asking());
  desk.pass(seconds(5));
  EngineReport report = heard(desk, 5);
  report.waiting = 2;
  report.kv_used = Tokens(7000);
  report.kv_capacity = Tokens(50000);
  desk.dispatcher.report(one, report);
  const WorkerStatus status = desk.dispatcher.workers()[0];
  EXPECT_DOUBLE_EQ(status.foreign_requests, 4);
  EXPECT_EQ(status.foreign_tokens, Tokens(4000));  // in proportion to the requests
  EXPECT_EQ(status.kv_capacity, Tokens(50000));
  desk.pass(seconds(2));
  EXPECT_EQ(desk.dispatcher.workers()[0].signal_age, seconds(2));
}

TEST(ForeignLoad, IsNeverBelowNothing) {
  Desk desk;
  const WorkerId one = desk.worker("one", 100);
  const auto ours = desk.submit(9, asking());
  desk.pass(seconds(1));
  desk.dispatcher.report(one, heard(desk, 2));  // an engine that queues elsewhere than it counts
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 0);
}

TEST(ForeignLoad, IsNotTakenFromReportsThatCannotBe) {
  Desk desk;
  const WorkerId one = desk.worker("one", 100);
  desk.pass(seconds(1));
  desk.dispatcher.report(one, heard(desk, 3));
  desk.pass(seconds(1));
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<EngineReport> impossible;
  for (const double value : {-1.0, nan, inf, -inf}) {
    impossible.push_back(heard(desk, value));
    impossible.push_back(heard(desk, 1));
    impossible.back().waiting = value;
  }
  impossible.push_back(heard(desk, 1));
  impossible.back().kv_used = Tokens(-1);
  impossible.push_back(heard(desk, 1));
  impossible.back().kv_capacity = Tokens(-1);
  impossible.push_back(heard(desk, 1));
  impossible.back().asked = desk.clock.now() + seconds(1);
  for (const EngineReport& report : impossible) {
    desk.dispatcher.report(one, report);
    const WorkerStatus status = desk.dispatcher.workers()[0];
    ASSERT_EQ(status.foreign_requests, 3);
    ASSERT_EQ(status.signal_age, seconds(1)) << "counted as heard";
  }
}

TEST(ForeignLoad, IsNotTakenFromAReportThatWasOvertaken) {
  Desk desk;
  const WorkerId one = desk.worker("one", 100);
  desk.pass(seconds(2));
  const EngineReport early = heard(desk, 50);
  desk.pass(seconds(1));
  desk.dispatcher.report(one, heard(desk, 2));
  desk.dispatcher.report(one, early);
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 2);
}

TEST(ForeignLoad, IsForgottenWhenNoReportRenewsIt) {
  Desk desk;
  const WorkerId busy = desk.worker("busy", 100);
  const WorkerId idle = desk.worker("idle", 100);
  desk.dispatcher.report(busy, heard(desk, 500));
  desk.dispatcher.report(idle, heard(desk, 0));
  EXPECT_EQ(desk.submit(asking())->lease.worker(), idle);
  desk.pass(seconds(9));
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 500);
  desk.pass(seconds(2));  // its metrics page hangs; it may be idle by now
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_requests, 0);
  EXPECT_EQ(desk.dispatcher.workers()[0].foreign_tokens, Tokens(0));
  EXPECT_TRUE(desk.dispatcher.workers()[0].reported);
  const auto slips = desk.submit(2, asking());
  EXPECT_NE(slips[0]->lease.worker(), slips[1]->lease.worker());
}

TEST(ForeignLoad, OfAWorkerThatNeverReportedIsUnknownAndNotInTheWay) {
  Desk desk;
  const WorkerId silent = desk.worker("silent", 100);
  const WorkerId loud = desk.worker("loud", 100);
  desk.dispatcher.report(loud, heard(desk, 0));
  const auto slips = desk.submit(10, asking());
  EXPECT_EQ(desk.in_flight(silent), 5);
  EXPECT_EQ(desk.in_flight(loud), 5);
  EXPECT_FALSE(desk.dispatcher.workers()[0].reported);
}

/// Leases open and end at random; each report is compared with a count over every lease there ever was.
TEST(ForeignLoad, FollowsTheIntervalRuleUnderRandomTraffic) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    Desk desk;
    const WorkerId one = desk.worker("one", 1000);
    struct Span {
      SlipPtr slip;
      Time begun, ended;
    };
    std::vector<Span> spans;
    for (int i = 0; i < 1500; ++i) {
      desk.pass(milliseconds(10 * static_cast<std::int64_t>(random.below(20))));
      const Time now = desk.clock.now();
      if (random.below(2) == 0) spans.push_back({desk.submit(asking()), now, Time::max()});
      for (Span& span : spans) {
        if (span.ended != Time::max() || random.below(8) > 0) continue;
        span.slip->lease.end(Outcome::completed);
        span.ended = now;
      }
      if (random.below(4) > 0) continue;
      const Duration round_trip = milliseconds(static_cast<std::int64_t>(random.below(600)));
      const double reported = static_cast<double>(random.below(12));
      desk.dispatcher.report(one, heard(desk, reported, round_trip));
      const auto beyond = [&](Duration slack) {
        double open = 0;
        for (const Span& span : spans) open += span.ended > now - round_trip - slack ? 1 : 0;
        return std::max(0.0, reported - open);
      };
      const double foreign = desk.dispatcher.workers()[0].foreign_requests;
      ASSERT_LE(foreign, beyond(milliseconds(300))) << "seed " << seed << ": ours taken for foreign";
      // Ends are noted every 100 ms on a tick of 50, so the interval may begin so much earlier, no more.
      ASSERT_GE(foreign, beyond(milliseconds(300 + 150))) << "seed " << seed << ": foreign taken for ours";
    }
  }
}

TEST(ForeignLoad, NeverHidesAFreeSlot) {
  // Two foreign requests were seen at the second box; they ended 50 ms later, and nobody has said so.
  Desk desk;
  const WorkerId thor = desk.worker("thor", 2);
  const WorkerId spark = desk.worker("spark", 2);
  desk.pass(seconds(5));
  desk.dispatcher.report(spark, heard(desk, 2));
  desk.pass(milliseconds(100));
  const auto burst = desk.submit(4, asking());
  EXPECT_EQ(desk.in_flight(thor), 2);
  EXPECT_EQ(desk.in_flight(spark), 2);
}

TEST(ForeignLoad, ThatLastsIsLeftItsRoom) {
  World world(thor_and_spark(64), {}, std::move(*routing::make_policy("least_requests")), 1, Probing{seconds(1)});
  for (int i = 0; i < 2; ++i) world.submit_foreign(1, 1e6);
  for (int burst = 0; burst < 20; ++burst) {
    world.run_until(world.now() + seconds(3));
    EXPECT_EQ(world.desk.dispatcher.workers()[1].foreign_requests, 2);
    for (int i = 0; i < 2; ++i) {
      const std::size_t job = world.submit(40);
      EXPECT_EQ(world.jobs[job].worker, 0U) << "beside two that run there already";
    }
    world.run_until_done();
  }
}

/// What a rule sees that subtracts only what of ours is open when the report arrives, or nothing at all.
struct Naive {
  std::array<double, 2> foreign{};
};

class LeastNaive final : public routing::Policy {
 public:
  explicit LeastNaive(const Naive& naive) : naive_(naive) {}
  [[nodiscard]] std::string_view name() const override { return "least_naive"; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time, Random& random,
            std::vector<fleet::Placement>& placements) override {
    const auto choice = routing::cheapest(waiting[0].candidates, fleet, random, "naive", [&](const auto& worker) {
      return static_cast<double>(worker.load.in_flight) + naive_.foreign.at(worker.id.value);
    });
    placements.push_back({0, choice.worker, choice.reason, choice.score, 2});
  }

 private:
  const Naive& naive_;
};

enum class Rule { interval, at_receipt, raw };

struct Series {
  int bursts = 0;
  int uneven = 0;
  int suppressed = 0;
  double tokens_per_s = 0;  ///< mean over bursts
};

constexpr int bursts_a_series = 100;

void run_series(Series& out, Rule rule, Duration gap, const Probing& probing, std::uint64_t seed) {
  Naive naive;
  auto policy = rule == Rule::interval ? std::move(*routing::make_policy("least_requests"))
                                       : std::unique_ptr<routing::Policy>(std::make_unique<LeastNaive>(naive));
  World world(thor_and_spark(64), {}, std::move(policy), seed, probing);
  world.on_report = [&](const World::Heard& what) {
    const double known = rule == Rule::raw ? 0 : what.ours;
    naive.foreign.at(what.worker) = std::max(0.0, what.reported - known);
  };
  world.run_until(Time(seconds(6)));  // one report of an idle fleet
  for (int burst = 0; burst < bursts_a_series; ++burst) {
    const Time begun = world.now();
    int at_spark = 0;
    for (int i = 0; i < 4; ++i) at_spark += world.jobs[world.submit(111)].worker == 1 ? 1 : 0;
    world.run_until_done();
    ++out.bursts;
    out.uneven += at_spark == 2 ? 0 : 1;
    out.suppressed += at_spark == 0 || at_spark == 4 ? 1 : 0;
    out.tokens_per_s += 444 / to_seconds(world.now() - begun);
    world.run_until(world.now() + gap);
  }
}

Series run_table(Rule rule, Duration round_trip, Duration gauge_lag, int phases) {
  Series out;
  Random random(99);
  for (const int gap_ms : {0, 50, 250, 500, 1000, 2000, 3000}) {
    for (int phase = 0; phase < phases; ++phase) {
      const Probing probing{seconds(5), round_trip, gauge_lag, from_seconds(5 * random.unit())};
      run_series(out, rule, milliseconds(gap_ms), probing, random.next());
    }
  }
  out.tokens_per_s /= out.bursts;
  return out;
}

/// Bursts of four on two idle boxes, back to back and with pauses, while reports are up to five seconds old.
class BurstSplit : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(BurstSplit, IsEvenUnderTheIntervalRuleAtEveryPhase) {
  constexpr int phases = effort(50, 4);
  const auto [round_trip, lag] = GetParam();
  const Series series = run_table(Rule::interval, milliseconds(round_trip), milliseconds(lag), phases);
  EXPECT_EQ(series.bursts, 7 * phases * bursts_a_series);
  EXPECT_EQ(series.suppressed, 0);
  EXPECT_EQ(series.uneven, 0);
  EXPECT_NEAR(series.tokens_per_s, 101.42, 0.005 * 101.42);  // 4 * 111 tokens over 222 / 50.71 s
}

INSTANTIATE_TEST_SUITE_P(Table, BurstSplit,
                         ::testing::Combine(::testing::Values(0, 20, 110, 500), ::testing::Values(0, 250)),
                         [](const auto& tested) {
                           return "RoundTrip" + std::to_string(std::get<0>(tested.param)) + "Lag" +
                                  std::to_string(std::get<1>(tested.param));
                         });

/// The test of the test: in the same fleet the rules that were tried before must fail.
TEST(BurstSplit, FailsUnderRulesThatLookOnlyAtTheReport) {
  const Series raw = run_table(Rule::raw, milliseconds(110), Duration(0), 6);
  EXPECT_GT(raw.uneven, raw.bursts / 10);
  EXPECT_LT(raw.tokens_per_s, 0.97 * 101.42);
  const Series lagged = run_table(Rule::at_receipt, milliseconds(110), milliseconds(250), 6);
  EXPECT_GT(lagged.uneven, lagged.bursts / 50);
  const Series prompt = run_table(Rule::at_receipt, Duration(0), Duration(0), 6);
  EXPECT_EQ(prompt.uneven, 0) << "without any delay that rule is right";
}

}  // namespace
}  // namespace evenkeel::dispatch
