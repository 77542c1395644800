#include "fleet/foreign_load.hpp"

#include <gtest/gtest.h>

namespace evenkeel::fleet {
namespace {

using namespace std::chrono_literals;

Time at(Duration since) { return Time{} + since; }

TEST(ForeignLoad, OwnRequestsAreNot) {
  ForeignLoad load(std::chrono::milliseconds(300), std::chrono::minutes(1));
  load.began(at(1s));
  load.began(at(1s));
  EXPECT_EQ(load.foreign(2, at(2s)), 0);
  EXPECT_EQ(load.foreign(5, at(2s)), 3);
}

TEST(ForeignLoad, WhatEndedWhileTheGaugeWasReadMayStillBeInIt) {
  ForeignLoad load(std::chrono::milliseconds(300), std::chrono::minutes(1));
  load.began(at(1s));
  load.ended(at(1s), at(2s));
  EXPECT_EQ(load.foreign(1, at(2100ms)), 0) << "ended within the slack before it was asked";
  EXPECT_EQ(load.foreign(1, at(1900ms)), 0) << "ended while it was asked";
  EXPECT_EQ(load.foreign(1, at(2301ms)), 1) << "ended long before";
}

TEST(ForeignLoad, FewerThanOursAreNone) {
  ForeignLoad load(std::chrono::milliseconds(300), std::chrono::minutes(1));
  load.began(at(1s));
  EXPECT_EQ(load.foreign(0, at(1s)), 0);
}

}  // namespace
}  // namespace evenkeel::fleet
