#include "calibrate/level_meter.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace evenkeel::calibrate {
namespace {

Time at(double seconds) { return Time{} + from_seconds(seconds); }

TEST(LevelMeter, WarmUpIsNotMeasured) {
  LevelMeter meter(1, 2);
  meter.began(0, at(0));
  meter.content(0, at(50), 1);  // the first request of an engine may take long
  EXPECT_TRUE(meter.ended(0, at(100), 10));
  for (const double start : {100.0, 101.0}) {
    meter.began(0, at(start));
    meter.content(0, at(start + 0.25), 4);
    meter.content(0, at(start + 0.75), 6);
    EXPECT_EQ(meter.ended(0, at(start + 1), 10), start < 101);
  }
  const LevelSample sample = meter.sample();
  EXPECT_EQ(sample.level, 1);
  EXPECT_EQ(sample.requests, 2);
  EXPECT_DOUBLE_EQ(sample.tokens, 20);
  EXPECT_DOUBLE_EQ(sample.window_s, 2);
  EXPECT_DOUBLE_EQ(sample.tokens_per_s, 10);
  EXPECT_DOUBLE_EQ(sample.ttft_s, 0.25);
}

TEST(LevelMeter, OpensWhenEveryStreamIsWarmAndCountsPartsOfRequests) {
  LevelMeter meter(2, 1);
  meter.began(0, at(0));
  meter.began(1, at(0));
  meter.content(0, at(0.5), 4);
  EXPECT_TRUE(meter.ended(0, at(1), 4));
  meter.began(0, at(1));
  meter.content(0, at(1.5), 2);  // of the second request, before the window
  meter.content(1, at(1.5), 4);
  EXPECT_TRUE(meter.ended(1, at(2), 4));  // it opens
  meter.began(1, at(2));
  meter.content(0, at(2.5), 2);
  meter.content(1, at(2.5), 1);
  EXPECT_TRUE(meter.ended(0, at(3), 4));  // the first of two that close it
  meter.began(0, at(3));
  meter.content(0, at(3.5), 3);
  meter.content(1, at(3.5), 1);
  EXPECT_FALSE(meter.ended(1, at(4), 2));  // it closes
  meter.content(0, at(4.5), 3);            // after it
  EXPECT_FALSE(meter.ended(0, at(5), 6));
  const LevelSample sample = meter.sample();
  EXPECT_EQ(sample.requests, 2);
  EXPECT_DOUBLE_EQ(sample.window_s, 2);
  EXPECT_DOUBLE_EQ(sample.tokens, 2 + 2 + 3);
}

TEST(LevelMeter, EventsOfSeveralTokensCountAsTheEngineSays) {
  LevelMeter meter(1, 1);
  meter.began(0, at(0));
  EXPECT_TRUE(meter.ended(0, at(1), std::nullopt));
  meter.began(0, at(1));
  meter.content(0, at(1.5), 5);
  meter.content(0, at(2), 5);
  EXPECT_FALSE(meter.ended(0, at(2), 30));
  EXPECT_DOUBLE_EQ(meter.sample().tokens, 30);
}

TEST(LevelMeter, WithoutUsageEachEventIsAToken) {
  LevelMeter meter(1, 1);
  meter.began(0, at(0));
  EXPECT_TRUE(meter.ended(0, at(1), std::nullopt));
  meter.began(0, at(1));
  meter.content(0, at(1.5), 5);
  EXPECT_FALSE(meter.ended(0, at(2), std::nullopt));
  EXPECT_DOUBLE_EQ(meter.sample().tokens, 5);
}

TEST(LevelMeter, WithoutAFirstTokenThereIsNoTime) {
  LevelMeter meter(1, 1);
  meter.began(0, at(0));
  EXPECT_TRUE(meter.ended(0, at(1), 5));
  meter.began(0, at(1));
  EXPECT_FALSE(meter.ended(0, at(2), 5));
  EXPECT_TRUE(std::isinf(meter.sample().ttft_s));
}

}  // namespace
}  // namespace evenkeel::calibrate
