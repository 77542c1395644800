#include "emulator/rank_header.hpp"

#include <gtest/gtest.h>

namespace evenkeel::emulator {
namespace {

TEST(RankHeader, AWholeNumberWithinTheRanksIsTheRank) {
  EXPECT_EQ(asked_rank("0", 8).value(), 0U);
  EXPECT_EQ(asked_rank(" 7 ", 8).value(), 7U);
  EXPECT_EQ(asked_rank("+3", 8).value(), 3U);
  EXPECT_EQ(asked_rank("-0", 8).value(), 0U);
}

TEST(RankHeader, WhatIsNoWholeNumberIsIgnored) {
  EXPECT_FALSE(asked_rank(std::nullopt, 8).value().has_value());
  for (const auto* text : {"", "-", "two", "1.0", "1,2", "0x1", "--1"}) {
    const auto rank = asked_rank(text, 8);
    ASSERT_TRUE(rank.has_value()) << text;
    EXPECT_FALSE(rank->has_value()) << text;
  }
}

TEST(RankHeader, AWholeNumberOutOfRangeIsRefused) {
  for (const auto* text : {"8", "-1", "99999999999999999999999"}) {
    const auto rank = asked_rank(text, 8);
    ASSERT_FALSE(rank.has_value()) << text;
    EXPECT_EQ(rank.error().status, 400);
    EXPECT_EQ(rank.error().type, "BadRequestError");
    EXPECT_EQ(rank.error().message, "data_parallel_rank " + std::string(text) + " is out of range [0, 8).");
  }
}

}  // namespace
}  // namespace evenkeel::emulator
