// The redline over a fleet: who has room, when the fleet freezes, what is learned.
#include "redline/fleet_redline.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace evenkeel::redline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr ModelId model{1};

class Fleet {
 public:
  explicit Fleet(std::size_t count, Options options = {}, std::int64_t capacity = 10'000)
      : redline(on(options)), running(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      fleet::WorkerView view;
      view.id = WorkerId{i};
      view.max_in_flight = 1000;
      view.kv_capacity = Tokens(capacity);
      workers.push_back(view);
    }
    hear();
  }

  void hear(std::int64_t used = 0) {
    for (const auto& view : workers) redline.heard(view.id, now, Tokens(used), view.kv_capacity);
  }
  [[nodiscard]] Demand demand(std::int64_t prompt, std::int64_t bound = 0, std::optional<bool> heavy = {}) const {
    return redline.demand(model, {prompt, bound, 0, heavy}, 1);
  }
  [[nodiscard]] bool takes(std::size_t at, const Demand& need) const {
    return redline.judge(workers[at], need, now).admissible;
  }
  RequestId admit(std::size_t at, const Demand& need) {
    const RequestId id{++last_};
    redline.admitted(workers[at].id, id, need);
    fleet::RunningView view;
    view.id = id;
    view.prompt_tokens = Tokens(need.signs.prompt_tokens);
    view.model = model;
    running[at].push_back(view);
    sum(at);
    return id;
  }
  void end(std::size_t at, std::int64_t output = 100) {
    fleet::LeaseSummary summary;
    summary.request = running[at].back().id;
    summary.worker = workers[at].id;
    summary.model = model;
    summary.outcome = fleet::Outcome::completed;
    summary.had_output = true;
    summary.output_tokens = Tokens(output);
    running[at].pop_back();
    redline.ended(summary);
    sum(at);
  }
  void grow(std::int64_t tokens) {
    for (std::size_t at = 0; at < workers.size(); ++at) {
      for (auto& each : running[at]) each.generated += tokens;
      sum(at);
    }
  }
  void look(bool may_release = true) {
    now += milliseconds(60);
    for (std::size_t at = 0; at < workers.size(); ++at) redline.refresh(workers[at].id, running[at], now);
    redline.look(model, workers, now, may_release);
  }
  /// Answers of `length` tokens, enough to be believed.
  void teach(std::int64_t length) {
    for (std::uint64_t i = 0; i < 2 * AnswerLaw::enough; ++i) {
      admit(0, demand(1));
      end(0, length);
    }
    look();
  }
  std::size_t fill(std::size_t at, const Demand& need) {
    std::size_t count = 0;
    while (count < 1000 && takes(at, need)) {
      admit(at, need);
      ++count;
    }
    return count;
  }

  Time now{seconds(100)};
  FleetRedline redline;
  std::vector<fleet::WorkerView> workers;
  std::vector<std::vector<fleet::RunningView>> running;

 private:
  static Options on(Options options) {
    options.on = true;
    return options;
  }
  void sum(std::size_t at) {
    fleet::Load load;
    for (const auto& each : running[at]) {
      ++load.in_flight;
      load.prompt_tokens += each.prompt_tokens;
      load.generated_tokens += Tokens(each.generated);
    }
    workers[at].load = load;
  }
  std::uint64_t last_ = 0;
};

TEST(FleetRedline, FillsAWorkerToWhatItsRequestsWillHoldAtTheirEnd) {
  Fleet fleet(1);
  fleet.teach(400);  // all alike: nothing is left to chance
  // 10,000 tokens; each ends with 100 + 400 and a block of 16, and the fleet keeps one block. What grows is counted to
  // the end of a stretch of time, up to 1.17 times as far.
  const std::size_t filled = fleet.fill(0, fleet.demand(100));
  EXPECT_LE(filled, 9984 / 516);
  EXPECT_GE(filled, 9984 / (116 + 400 * 117 / 100) - 1);
}

TEST(FleetRedline, ABoundMakesRoom) {
  Fleet fleet(1);
  const std::size_t unbounded = fleet.fill(0, fleet.demand(100));
  Fleet other(1);
  const std::size_t bounded = other.fill(0, other.demand(100, 50));
  EXPECT_GT(bounded, 2 * unbounded);
  EXPECT_LE(bounded, 9984 / 166);
  EXPECT_GE(bounded, 9984 / (116 + 70));
}

TEST(FleetRedline, AFootprintCountsNoTokenBeyondTheBound) {
  const auto footprint = [](FootprintReading reading, std::int64_t bound) {
    Options options;
    options.footprint = reading;
    Fleet fleet(1, options);
    fleet.teach(400);
    return fleet.demand(100, bound).footprint;
  };
  EXPECT_NEAR(footprint(FootprintReading::window_mean, 0), 300, 2);
  EXPECT_NEAR(footprint(FootprintReading::window_mean, 50), 125, 1e-9);
  EXPECT_NEAR(footprint(FootprintReading::mean_duration, 50), 150, 1e-9);
  EXPECT_NEAR(footprint(FootprintReading::residency_mean, 50), 125, 1e-9);
  EXPECT_NEAR(footprint(FootprintReading::mean_duration, 4000), footprint(FootprintReading::mean_duration, 0), 1e-9);
}

/// Answers of one length, entering whenever there is room: the memory is never full, and never much of it idle.
TEST(FleetRedline, KeepsAWorkerFullAndNeverOverfull) {
  Fleet fleet(1);
  fleet.teach(400);
  const Demand need = fleet.demand(100);
  double sum = 0;
  constexpr int moments = 400;
  for (int i = 0; i < moments; ++i) {
    fleet.grow(5);
    auto& all = fleet.running[0];
    while (!all.empty() && all.front().generated >= 400) {
      std::rotate(all.begin(), all.begin() + 1, all.end());
      fleet.end(0, 400);
    }
    fleet.look();
    fleet.fill(0, need);
    const double used = fleet.redline.status(fleet.workers[0], fleet.now).used;
    ASSERT_LE(used, 10'000) << i;
    if (i >= moments / 2) sum += used / (moments / 2);
  }
  EXPECT_GT(sum, 5000);  // those that entered together age together: 300 of 500 tokens on average
}

TEST(FleetRedline, AnEmptyWorkerTakesAnything) {
  Fleet fleet(1);
  EXPECT_TRUE(fleet.takes(0, fleet.demand(50'000)));
  fleet.admit(0, fleet.demand(10));
  EXPECT_FALSE(fleet.takes(0, fleet.demand(50'000)));
}

TEST(FleetRedline, ForeignLoadIsNoRoom) {
  Fleet fleet(1);
  fleet.admit(0, fleet.demand(10, 10));
  EXPECT_TRUE(fleet.takes(0, fleet.demand(2000, 10)));
  fleet.workers[0].foreign_tokens = Tokens(9000);
  EXPECT_FALSE(fleet.takes(0, fleet.demand(2000, 10)));
}

TEST(FleetRedline, WithoutACapacityOnlySlotsAndPrefillCount) {
  Options options;
  options.prefill_tokens = 5000;
  Fleet fleet(1, options, 0);
  for (int i = 0; i < 100; ++i) fleet.admit(0, fleet.demand(1000));
  EXPECT_TRUE(fleet.takes(0, fleet.demand(1000)));
  fleet.workers[0].load.queued_prompt = Tokens(4500);
  EXPECT_FALSE(fleet.takes(0, fleet.demand(1000)));
  EXPECT_EQ(fleet.redline.judge(fleet.workers[0], fleet.demand(1000), fleet.now).left.resource, Resource::prefill);
  fleet.workers[0].load.queued_prompt = Tokens(0);  // one prompt that is larger than that passes alone
  EXPECT_TRUE(fleet.takes(0, fleet.demand(6000)));
}

TEST(FleetRedline, AWorkerThatIsNotHeardOfKeepsTheReserveOfASilo) {
  Fleet pooled(1);
  const std::size_t filled = pooled.fill(0, pooled.demand(100, 100));
  Fleet cut_off(1);
  cut_off.now += seconds(60);
  EXPECT_EQ(cut_off.redline.status(cut_off.workers[0], cut_off.now).lease, LeaseMode::siloed);
  const std::size_t less = cut_off.fill(0, cut_off.demand(100, 100));
  EXPECT_NEAR(static_cast<double>(less), 0.9 * static_cast<double>(filled), 2);

  Options block;
  block.when_cut_off = WhenCutOff::block;
  Fleet blocked(1, block);
  EXPECT_TRUE(blocked.takes(0, blocked.demand(100, 100)));
  blocked.now += seconds(60);
  EXPECT_FALSE(blocked.takes(0, blocked.demand(100, 100)));
}

TEST(FleetRedline, RoutersKeepWithinTheirShares) {
  Options half;
  half.share = 0.5;
  Fleet one(1, half);
  const std::size_t filled = one.fill(0, one.demand(100, 100));
  const double held = static_cast<double>(filled) * 216;
  EXPECT_LE(held, 5000);
  EXPECT_GT(held, 4000);
}

TEST(FleetRedline, ClosesAWorkerWhoseEngineReportsItsEnd) {
  Fleet fleet(1);
  fleet.admit(0, fleet.demand(100, 100));
  EXPECT_TRUE(fleet.takes(0, fleet.demand(100, 100)));
  for (int i = 0; i < 30; ++i) {
    fleet.now += seconds(1);
    fleet.hear(9990);  // whatever holds it, it is not in the books
  }
  EXPECT_FALSE(fleet.takes(0, fleet.demand(100, 100)));
}

TEST(FleetRedline, FreezesOnceAndIsReleasedOnceOverASurge) {
  Fleet fleet(4);
  const Demand light = fleet.demand(200, 100);
  fleet.look();
  EXPECT_FALSE(fleet.redline.frozen(model));
  // A surge: whatever ends is replaced at once, by light and, where they are taken, heavy requests.
  for (int round = 0; round < 200; ++round) {
    for (std::size_t at = 0; at < 4; ++at) {
      if (!fleet.running[at].empty() && round % 3 == 0) fleet.end(at, 100);
      fleet.fill(at, light);
      const Demand heavy = fleet.demand(200, 0, true);
      if (fleet.takes(at, heavy)) fleet.admit(at, heavy);
    }
    fleet.look(false);
  }
  EXPECT_TRUE(fleet.redline.frozen(model));
  EXPECT_TRUE(fleet.redline.refuses(fleet.demand(200, 0, true)));
  EXPECT_FALSE(fleet.redline.refuses(light));
  EXPECT_EQ(fleet.redline.fleet().front().freezes, 1U);
  EXPECT_EQ(fleet.redline.fleet().front().releases, 0U);
  for (std::size_t at = 0; at < 4; ++at) {
    while (!fleet.running[at].empty()) fleet.end(at, 100);
  }
  fleet.look();
  EXPECT_FALSE(fleet.redline.frozen(model));
  EXPECT_EQ(fleet.redline.fleet().front().freezes, 1U);
  EXPECT_EQ(fleet.redline.fleet().front().releases, 1U);
}

TEST(FleetRedline, MetersHeavyRequestsWhileFrozenSoThatTheReserveStays) {
  Options options;
  options.heavy.heavy_tokens = 40;  // so that their bounds allow them to be heavy
  Fleet fleet(1, options);
  fleet.fill(0, fleet.demand(200, 100));
  fleet.look(false);
  ASSERT_TRUE(fleet.redline.frozen(model));
  for (int i = 0; i < 6; ++i) fleet.end(0, 100);
  fleet.look(false);  // some 1,900 tokens are free, the reserve is 500
  EXPECT_TRUE(fleet.takes(0, fleet.demand(200, 50, true)));
  int light_alone = 0;  // may use the reserve
  for (std::int64_t prompt = 100; prompt < 2000; prompt += 50) {
    const bool light = fleet.takes(0, fleet.demand(prompt, 100, false));
    const bool heavy = fleet.takes(0, fleet.demand(prompt, 100, true));
    EXPECT_TRUE(light || !heavy) << prompt;
    light_alone += light && !heavy ? 1 : 0;
  }
  EXPECT_GE(light_alone, 5);  // 500 tokens of reserve in steps of 50 tokens of prompt
  EXPECT_LE(light_alone, 11);
}

TEST(FleetRedline, PublishedKeepsOneLine) {
  Options options;
  options.line = Line::published;
  options.silo = 0.2;
  Fleet fleet(1, options);
  const std::size_t filled = fleet.fill(0, fleet.demand(400));  // footprint: half of the unknown 1,024 more
  // Those placed hold their prompt, whatever they will grow to.
  EXPECT_EQ(filled, 1 + static_cast<std::size_t>((8000 - 912) / 400));
}

TEST(FleetRedline, CorrectsByAgeWhatWasTakenForLight) {
  Options options;
  options.heavy.heavy_tokens = 500;
  Fleet fleet(1, options);
  fleet.admit(0, fleet.demand(100));
  fleet.grow(499);
  fleet.look();
  EXPECT_EQ(fleet.redline.heavy_counts().corrected, 0U);
  fleet.grow(2);
  fleet.look();
  fleet.look();
  EXPECT_EQ(fleet.redline.heavy_counts().corrected, 1U);
  fleet.end(0, 501);
  EXPECT_EQ(fleet.redline.heavy_counts().called_light, 1U);
}

}  // namespace
}  // namespace evenkeel::redline
