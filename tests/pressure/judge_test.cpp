#include "pressure/judge.hpp"

#include "pressure/support.hpp"

namespace evenkeel::pressure {
namespace {

Verdict verdict_on(const std::string& tree, Options options = {}) {
  return Judge(options).judge(figures_of(tree), at(5));
}

Options by_swap_alone() {
  Options options;
  options.evidence = Evidence::swap;
  return options;
}

Figures figures(double swap, double stall, double ins = 0, double iowait = 0) {
  Figures all;
  all.swap_used_percent = swap;
  all.memory_stall_percent = stall;
  all.swap_ins_per_s = ins;
  all.swap_outs_per_s = 0;
  all.iowait_percent = iowait;
  return all;
}

TEST(PressureMeter, FiguresAreOfTheTimeBetweenTwoReadings) {
  const Figures healthy = figures_of("healthy");
  EXPECT_NEAR(healthy.iowait_percent.value_or(-1), 1, 1e-9);
  EXPECT_FALSE(healthy.iowait_since_boot);
  EXPECT_EQ(healthy.swap_ins_per_s.value_or(-1), 0);
  const Figures thrashing = figures_of("swap-90");
  EXPECT_NEAR(thrashing.swap_used_percent.value_or(-1), 90, 1e-4);
  EXPECT_EQ(thrashing.swap_ins_per_s.value_or(-1), 20000);
  EXPECT_EQ(thrashing.swap_outs_per_s.value_or(-1), 8000);
  EXPECT_EQ(thrashing.memory_stall_percent.value_or(-1), 38.21);
  const Figures charged = figures_of("false-pressure");
  EXPECT_NEAR(charged.iowait_percent.value_or(-1), 71.5, 1e-9);
  EXPECT_NEAR(charged.swap_used_percent.value_or(-1), 18.9, 1e-4);
}

TEST(PressureMeter, OneReadingTellsNoRateAndTheShareSinceTheBoot) {
  Meter meter;
  const Figures first = meter.take(recorded("healthy").read(at(0)));
  EXPECT_EQ(why(first.swap_ins_per_s), "it takes two readings");
  EXPECT_TRUE(first.iowait_since_boot);
  EXPECT_NEAR(first.iowait_percent.value_or(-1), 100.0 * 12000 / 9612100, 1e-9);
}

TEST(PressureMeter, CountersThatDoNotMoveLeaveTheLastShareAndThoseThatGoBackNone) {
  Meter meter;
  (void)meter.take(recorded("healthy").read(at(0)));
  (void)meter.take(recorded("healthy-5s-later").read(at(5)));
  const Figures still = meter.take(recorded("healthy-5s-later").read(at(6)));
  EXPECT_NEAR(still.iowait_percent.value_or(-1), 1, 1e-9);
  EXPECT_EQ(still.swap_ins_per_s.value_or(-1), 0);
  const Figures back = meter.take(recorded("healthy").read(at(7)));
  EXPECT_EQ(why(back.iowait_percent), "a time of /proc/stat went back");
  (void)meter.take(recorded("swap-90").read(at(8)));
  EXPECT_EQ(why(meter.take(recorded("healthy").read(at(9))).swap_ins_per_s), "a counter of /proc/vmstat went back");
}

TEST(PressureMeter, WhatWasNotReadIsNotKnown) {
  Meter meter;
  (void)meter.take(recorded("healthy").read(at(0)));
  const Figures damaged = meter.take(recorded("damaged").read(at(1)));
  for (const auto* figure : {&damaged.swap_used_percent, &damaged.iowait_percent, &damaged.memory_stall_percent,
                             &damaged.swap_ins_per_s, &damaged.swap_outs_per_s}) {
    EXPECT_TRUE(why(*figure).starts_with("/proc/")) << why(*figure);
  }
  EXPECT_EQ(why(meter.take(recorded("healthy").read(at(2))).swap_ins_per_s), "it takes two readings");
}

TEST(PressureJudge, AHealthyBoxIsWarm) {
  const Verdict verdict = verdict_on("healthy");
  EXPECT_EQ(verdict.mode, Mode::warm);
  EXPECT_FALSE(verdict.shed);
  EXPECT_EQ(verdict.reason, "swap is 5.0 % used (not over 75)");
}

TEST(PressureJudge, ABoxThatThrashesSheds) {
  const Verdict verdict = verdict_on("swap-90");
  EXPECT_EQ(verdict.mode, Mode::busy);
  EXPECT_TRUE(verdict.shed);
  EXPECT_EQ(verdict.reason,
            "swap is 90.0 % used (over 75); tasks waited for memory 38.2 % of 10 s (over 10); 20000 pages a second "
            "came back from swap (over 1000)");
}

TEST(PressureJudge, SwapThatNobodyAsksForShedsOnlyWhereTheShareAloneIsEvidence) {
  const Verdict verdict = verdict_on("swap-90-quiet");
  EXPECT_EQ(verdict.mode, Mode::busy);
  EXPECT_FALSE(verdict.shed);
  EXPECT_TRUE(verdict_on("swap-90-quiet", by_swap_alone()).shed);
}

TEST(PressureJudge, FalsePressureOfASleepingTerminalShedsNothing) {
  for (const Options& options : {Options{}, by_swap_alone()}) {
    const Verdict verdict = verdict_on("false-pressure", options);
    EXPECT_EQ(verdict.mode, Mode::busy);
    EXPECT_FALSE(verdict.shed);
    EXPECT_EQ(verdict.reason, "swap is 18.9 % used (not over 75); iowait is 71.5 %, which says nothing of memory");
  }
}

TEST(PressureJudge, WithoutStallInformationSwapTrafficIsTheEvidence) {
  const Verdict verdict = verdict_on("no-psi");
  EXPECT_TRUE(verdict.shed);
  EXPECT_NE(verdict.reason.find("how long tasks waited for memory is not known (/proc/pressure/memory: "),
            std::string::npos)
      << verdict.reason;
  Meter meter;  // and with neither nobody knows
  const Verdict first = Judge({}).judge(meter.take(recorded("no-psi").read(at(0))), at(0));
  EXPECT_EQ(first.mode, Mode::busy);
  EXPECT_FALSE(first.shed);
}

TEST(PressureJudge, ABoxWithoutSwapDoesNotShed) {
  Meter meter;
  const Verdict verdict = Judge({}).judge(meter.take(recorded("no-swap").read(at(0))), at(0));
  EXPECT_EQ(verdict.mode, Mode::warm);
  EXPECT_FALSE(verdict.shed);
}

TEST(PressureJudge, WhatIsNotKnownIsNeitherCalmNorPressure) {
  Meter meter;
  const Verdict verdict = Judge({}).judge(meter.take(recorded("damaged").read(at(0))), at(0));
  EXPECT_EQ(verdict.mode, Mode::unknown);
  EXPECT_FALSE(verdict.shed);
  EXPECT_EQ(verdict.reason, "how much of the swap is used is not known (/proc/meminfo: SwapFree is over SwapTotal)");
}

TEST(PressureJudge, ThresholdsMustBeExceededAndBothAreNeeded) {
  EXPECT_FALSE(Judge({}).judge(figures(75, 100), at(0)).shed);
  EXPECT_EQ(Judge({}).judge(figures(75, 100), at(0)).mode, Mode::warm);
  EXPECT_FALSE(Judge({}).judge(figures(100, 10, 1000), at(0)).shed);
  EXPECT_TRUE(Judge({}).judge(figures(75.1, 10.1, 0), at(0)).shed);
  EXPECT_TRUE(Judge({}).judge(figures(75.1, 0, 1001), at(0)).shed);
  EXPECT_EQ(Judge({}).judge(figures(0, 0, 0, 50), at(0)).mode, Mode::warm);
  EXPECT_EQ(Judge({}).judge(figures(0, 0, 0, 50.1), at(0)).mode, Mode::busy);
}

TEST(PressureJudge, ABoxOnTheEdgeDoesNotFlap) {
  Judge judge({});
  int changes = 0;
  bool shed = false;
  // Ten minutes of readings each 2 s that hop over both thresholds and back.
  for (int i = 0; i < 300; ++i) {
    const Verdict verdict = judge.judge(i % 2 == 0 ? figures(76, 11) : figures(74, 9), at(2 * i));
    changes += verdict.shed != shed ? 1 : 0;
    shed = verdict.shed;
  }
  EXPECT_EQ(changes, 1);
}

TEST(PressureJudge, ItShedsUntilTheFactHasBeenGoneForTheHoldTime) {
  Judge judge({});
  EXPECT_TRUE(judge.judge(figures(90, 30), at(0)).shed);
  EXPECT_TRUE(judge.judge(figures(70, 30), at(20)).shed) << "over 9/10 of the threshold";
  EXPECT_TRUE(judge.judge(figures(70, 6), at(40)).shed) << "over a half of the evidence";
  const Verdict eases = judge.judge(figures(70, 5), at(49.9));
  EXPECT_TRUE(eases.shed);
  EXPECT_TRUE(eases.reason.ends_with("; it sheds until that has lasted 10 s")) << eases.reason;
  EXPECT_FALSE(judge.judge(figures(70, 5), at(50)).shed);
  EXPECT_FALSE(judge.judge(figures(74, 30), at(60)).shed) << "what keeps it shedding does not begin it";
}

TEST(PressureJudge, AReaderThatFailsDoesNotKeepABoxOut) {
  Judge judge({});
  EXPECT_TRUE(judge.judge(figures(90, 30), at(0)).shed);
  EXPECT_TRUE(
      judge
          .judge(Figures{failure("gone"), failure("gone"), false, failure("gone"), failure("gone"), failure("gone")},
                 at(5))
          .shed);
  EXPECT_FALSE(
      judge
          .judge(Figures{failure("gone"), failure("gone"), false, failure("gone"), failure("gone"), failure("gone")},
                 at(10))
          .shed);
}

}  // namespace
}  // namespace evenkeel::pressure
