// The learned curve against curves that are known because the test makes them.
#include "fleet/rate_curve.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::fleet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A worker that saturates: rises nearly in proportion, then bends towards 400 a second.
double truth(double running) { return 400 * running / (running + 7); }

void watch(RateCurve& curve, double running, double rate, int tenths, bool as_it_was_done = false) {
  for (int i = 0; i < tenths; ++i) curve.observe(running, rate * 0.1, milliseconds(100), as_it_was_done);
}

TEST(RateCurve, KnowsNothingBeforeItSawAnything) {
  const RateCurve curve;
  EXPECT_FALSE(curve.known());
  for (const double running : {0.5, 1.0, 2.0, 100.0}) EXPECT_EQ(curve.at(running), 0) << running;
}

TEST(RateCurve, DoesNotBelieveAGlimpse) {
  RateCurve curve;
  curve.observe(1, 5000, milliseconds(1));
  EXPECT_FALSE(curve.known());
  EXPECT_EQ(curve.at(1), 0);
}

TEST(RateCurve, ConvergesToTheTrueCurveAtEveryLevelItSees) {
  RateCurve curve;
  const std::vector<double> levels = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64};
  Random random(3);
  for (int i = 0; i < 40000; ++i) {  // work comes in noisy lumps
    const double level = levels[random.below(levels.size())];
    curve.observe(level, random.exponential(truth(level) * 0.1), milliseconds(100));
  }
  // 43 s of busy time weigh in each (half-life 30 s): 430 lumps of cv 1 leave a deviation of 3.4 percent.
  for (const double level : levels) EXPECT_NEAR(curve.at(level) / truth(level), 1, 0.12) << level;
}

TEST(RateCurve, IsExactOnASteadyWorker) {
  RateCurve curve;
  for (const double level : {1.0, 4.0, 16.0}) watch(curve, level, truth(level), 300);
  for (const double level : {1.0, 4.0, 16.0}) EXPECT_NEAR(curve.at(level), truth(level), 1e-9) << level;
}

TEST(RateCurve, IsLinearBetweenLevelsProportionalBelowAndForOneReachAbove) {
  RateCurve curve;
  watch(curve, 4, 100, 50);
  watch(curve, 8, 180, 50);
  EXPECT_NEAR(curve.at(4), 100, 1e-9);
  EXPECT_NEAR(curve.at(5), 120, 1e-9);  // 100 + 1/4 of 80
  EXPECT_NEAR(curve.at(7), 160, 1e-9);  // 100 + 3/4 of 80
  EXPECT_NEAR(curve.at(8), 180, 1e-9);
  EXPECT_NEAR(curve.at(2), 50, 1e-9);  // half of 4
  EXPECT_NEAR(curve.at(1), 25, 1e-9);
  EXPECT_NEAR(curve.at(9), 202.5, 1e-9);  // 9/8 of 180
  EXPECT_NEAR(curve.at(12), 270, 1e-9);
  EXPECT_NEAR(curve.at(1000), 270, 1e-9);  // half as much again, and flat
}

TEST(RateCurve, PlacesAGroupAtTheMeanLevelItWasSeenAt) {
  RateCurve curve;
  watch(curve, 11, 110, 10);  // 11 and 13 share the group of 12
  watch(curve, 13, 130, 10);
  watch(curve, 24, 240, 10);
  // Each counts for the busy time it lasted, the later a little more; on a proportional worker any mean
  // level carries its own rate, so the curve stays the straight line.
  for (const double level : {6.0, 12.0, 18.0, 24.0}) EXPECT_NEAR(curve.at(level), 10 * level, 1e-6) << level;
}

TEST(RateCurve, ForgetsByHalfInOneHalfLifeOfBusyTime) {
  RateCurve curve(seconds(30));
  watch(curve, 4, 100, 30000);  // steady state of the old speed
  watch(curve, 4, 20, 300);     // then 30 busy seconds at a fifth
  // The old sum has fallen to half, the new one makes up the other half: the mean of both.
  EXPECT_NEAR(curve.at(4), 60, 0.2);
  watch(curve, 4, 20, 300);
  EXPECT_NEAR(curve.at(4), 40, 0.2);
}

TEST(RateCurve, KeepsALevelThatIsNotVisited) {
  RateCurve curve(seconds(30));
  watch(curve, 2, 50, 100);
  watch(curve, 16, 200, 36000);  // an hour elsewhere
  EXPECT_NEAR(curve.at(2), 50, 1e-9);
}

TEST(RateCurve, DropsObservationsThatCannotBe) {
  RateCurve curve;
  watch(curve, 4, 100, 50);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  curve.observe(0, 10, seconds(1));
  curve.observe(-3, 10, seconds(1));
  curve.observe(4, -10, seconds(1));
  curve.observe(4, 10, seconds(0));
  curve.observe(4, 10, seconds(-1));
  curve.observe(nan, 10, seconds(1));
  curve.observe(4, nan, seconds(1));
  curve.observe(inf, 10, seconds(1));
  curve.observe(4, inf, seconds(1));
  for (const double level : {1.0, 4.0, 5000.0}) EXPECT_NEAR(curve.at(level), std::min(level, 6.0) * 25, 1e-9);
}

TEST(RateCurve, IsMadeOfPointsAndGivesThemBack) {
  const std::vector<RatePoint> points = {{1, 18.18}, {2, 50.71}, {4, 50.71}};
  const RateCurve curve = RateCurve::of(points);
  ASSERT_EQ(curve.points().size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_DOUBLE_EQ(curve.points()[i].level, points[i].level);
    EXPECT_DOUBLE_EQ(curve.points()[i].rate, points[i].rate);
    EXPECT_DOUBLE_EQ(curve.at(points[i].level), points[i].rate);
  }
  EXPECT_DOUBLE_EQ(curve.at(3), 50.71);
  const std::vector<RatePoint> impossible = {{0, 5}, {1, -5}, {std::numeric_limits<double>::quiet_NaN(), 5}};
  EXPECT_FALSE(RateCurve::of(impossible).known());
  EXPECT_TRUE(RateCurve().points().empty());
}

TEST(RateCurve, TakesLevelsAboveItsLastGroup) {
  RateCurve curve;
  watch(curve, 5000, 900, 10);
  EXPECT_NEAR(curve.at(5000), 900, 1e-9);
  EXPECT_NEAR(curve.at(2500), 450, 1e-9);
}

/// As two boxes were measured: so much with one, so much with two.
RateCurve streamed() {
  RateCurve curve;
  watch(curve, 1, 49.24, 600, true);
  watch(curve, 2, 87.82, 600, true);
  return curve;
}

TEST(RateCurve, OfAWorkerThatChangedFollowsWithinFiveSecondsAndAtAllLevels) {
  for (const double factor : {0.25, 0.4, 2.5, 4.0}) {
    RateCurve curve = streamed();
    watch(curve, 2, 87.82 * factor, 47, true);
    EXPECT_NEAR(curve.at(2) / (87.82 * factor), 1, 0.01) << factor;
    EXPECT_NEAR(curve.at(1) / (49.24 * factor), 1, 0.05) << factor;
    watch(curve, 1, 30, 30, true);  // not what that came to
    EXPECT_NEAR(curve.at(1), 30, std::abs(49.24 * factor - 30) / 3) << factor;
  }
}

TEST(RateCurve, OfAWorkerThatChangedLittleOrForAMomentIsTheMean) {
  RateCurve little = streamed();
  watch(little, 2, 87.82 * 0.6, 47, true);
  EXPECT_GT(little.at(2), 80);
  RateCurve moment = streamed();
  for (int i = 0; i < 10; ++i) {
    watch(moment, 2, 87.82 / 4, 20, true);
    watch(moment, 2, 87.82, 20, true);
  }
  EXPECT_GT(moment.at(2), 50);
  EXPECT_NEAR(moment.at(1), 49.24, 1e-9);
}

TEST(RateCurve, IsNotLearnedAnewFromAWorkerThatHangs) {
  RateCurve curve = streamed();
  watch(curve, 2, 0, 100, true);
  watch(curve, 2, 87.82, 20, true);
  EXPECT_GT(curve.at(2), 60);
}

TEST(RateCurve, IsNotLearnedAnewFromWhatIsToldWhenRequestsEnd) {
  RateCurve curve;
  for (int i = 0; i < 20; ++i) {  // twenty seconds of nothing, and then all of it
    watch(curve, 2, 0, 200);
    watch(curve, 2, 201 * 87.82, 1);
  }
  EXPECT_NEAR(curve.at(2), 87.82, 25) << "by the half-life, the last twenty seconds weigh more";
}

TEST(RateCurve, IsNotLearnedAnewFromNoise) {
  RateCurve curve;
  Random random(17);
  for (int i = 0; i < 100'000; ++i) {
    double lump = 0;
    for (int part = 0; part < 4; ++part) lump += random.exponential(8.782 / 4);
    curve.observe(2, lump, milliseconds(100), true);
    if (i > 1000) {
      ASSERT_NEAR(curve.at(2), 87.82, 0.2 * 87.82) << i;
    }
  }
}

TEST(RateCurve, SaysWhatItSawLast) {
  RateCurve curve = streamed();
  ASSERT_TRUE(curve.latest().has_value());
  EXPECT_EQ(curve.latest()->level, 2);
  EXPECT_NEAR(curve.latest()->rate, 87.82, 1e-9);
  watch(curve, 8, 200, 5);
  EXPECT_FALSE(curve.latest().has_value()) << "half a second is little";
}

}  // namespace
}  // namespace evenkeel::fleet
