#include "calibrate/knee.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::calibrate {
namespace {

LevelSample at(std::int64_t level, double tokens_per_s, double ttft_s = 0.1) {
  LevelSample sample;
  sample.level = level;
  sample.tokens_per_s = tokens_per_s;
  sample.ttft_s = ttft_s;
  return sample;
}

Knee knee(std::vector<LevelSample> samples) { return find_knee(samples, 1.0, 0.10); }

TEST(C6Knee, NothingMeasuredIsEmpty) { EXPECT_EQ(knee({}), (Knee{0, KneeReason::empty})); }

TEST(C6Knee, FirstLevelOverTheBoundIsNone) {
  EXPECT_EQ(knee({at(1, 10, 1.01), at(2, 20)}), (Knee{0, KneeReason::ttft_bound}));
}

TEST(C6Knee, LaterLevelOverTheBoundEndsAtTheOneBelow) {
  EXPECT_EQ(knee({at(1, 10), at(2, 20), at(4, 40, 1.5), at(8, 80)}), (Knee{2, KneeReason::ttft_bound}));
}

TEST(C6Knee, FirstTokenJustAtTheBoundIsInTime) {
  EXPECT_EQ(knee({at(1, 10, 1.0), at(2, 20, 1.0)}), (Knee{2, KneeReason::top_of_ramp}));
}

TEST(C6Knee, GainUnderTheLeastIsAPlateau) {
  EXPECT_EQ(knee({at(1, 10), at(2, 20), at(4, 21.9), at(8, 80)}), (Knee{2, KneeReason::plateau}));
}

TEST(C6Knee, DipIsAPlateau) { EXPECT_EQ(knee({at(1, 10), at(2, 20), at(4, 15)}), (Knee{2, KneeReason::plateau})); }

TEST(C6Knee, GainOfJustTheLeastStillRises) {
  EXPECT_EQ(knee({at(1, 50), at(2, 55), at(4, 60.5)}), (Knee{4, KneeReason::top_of_ramp}));
}

TEST(C6Knee, EndOfTheListIsTheTop) {
  EXPECT_EQ(knee({at(1, 10), at(2, 20), at(4, 40)}), (Knee{4, KneeReason::top_of_ramp}));
  EXPECT_EQ(knee({at(1, 10)}), (Knee{1, KneeReason::top_of_ramp}));
}

TEST(C6Knee, BaselineOfZeroIsPassedOver) {
  EXPECT_EQ(knee({at(1, 0), at(2, 0), at(4, 1)}), (Knee{4, KneeReason::top_of_ramp}));
}

TEST(C6Knee, OrderDoesNotMatter) {
  EXPECT_EQ(knee({at(8, 40), at(1, 10), at(4, 40), at(2, 20)}), (Knee{4, KneeReason::plateau}));
}

TEST(C6Knee, BoundCountsBeforeTheGain) {
  EXPECT_EQ(knee({at(1, 10), at(2, 10, 2)}), (Knee{1, KneeReason::ttft_bound}));
}

TEST(C6Knee, WhatIsNoNumberIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(knee({at(1, 10, nan)}), (Knee{0, KneeReason::ttft_bound}));
  EXPECT_EQ(knee({at(1, 10), at(2, nan)}), (Knee{1, KneeReason::plateau}));
}

TEST(Knee, IsUsableOnlyWhereItEndsByItself) {
  EXPECT_TRUE((Knee{2, KneeReason::plateau}).usable());
  EXPECT_TRUE((Knee{2, KneeReason::ttft_bound}).usable());
  EXPECT_FALSE((Knee{0, KneeReason::ttft_bound}).usable());
  EXPECT_FALSE((Knee{8, KneeReason::top_of_ramp}).usable());
  EXPECT_FALSE(Knee{}.usable());
}

}  // namespace
}  // namespace evenkeel::calibrate
