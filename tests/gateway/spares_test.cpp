#include "gateway/spares.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace evenkeel::gateway {
namespace {

TEST(Spares, WhatIsGivenComesBackEmptyWithItsRoom) {
  Spares spares;
  std::string body(5000, 'x');
  const char* const where = body.data();
  spares.give(body);
  EXPECT_TRUE(body.empty());
  const std::string again = spares.string();
  EXPECT_TRUE(again.empty());
  EXPECT_EQ(again.data(), where);
  EXPECT_EQ(spares.string().capacity(), std::string().capacity());  // there was one
}

TEST(Spares, WhatIsHeldLongHoldsLittle) {
  Spares spares;
  std::string body(5000, 'x'), id(24, 'i');
  spares.give(body);
  EXPECT_LT(spares.short_string().capacity(), 200U);
  spares.give(id);
  EXPECT_GE(spares.short_string().capacity(), 24U);
  EXPECT_GE(spares.string().capacity(), 5000U);
}

TEST(Spares, KeepsNeitherTheHugeNorMoreThanItMay) {
  Spares spares;
  std::string huge(1U << 20U, 'x');
  spares.give(huge);
  EXPECT_TRUE(huge.empty());
  EXPECT_EQ(spares.string().capacity(), std::string().capacity());
  for (int i = 0; i < 2000; ++i) {
    std::string body(1000, 'x');
    spares.give(body);
    EXPECT_TRUE(body.empty());
  }
  std::size_t kept = 0;
  while (spares.string().capacity() >= 1000) ++kept;
  EXPECT_GT(kept, 0U);
  EXPECT_LE(kept, 512U);
}

TEST(Spares, AChainIsKeptOnlyIfNobodyElseHoldsIt) {
  Spares spares;
  auto chain = spares.chain();
  const auto* const where = chain.get();
  auto other = chain;
  spares.give(chain);
  EXPECT_EQ(chain, nullptr);
  EXPECT_NE(spares.chain().get(), where);
  spares.give(other);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(spares.chain().get(), where);
  spares.give(other);  // of nothing
}

TEST(Spares, AParserLentAListReadsTheSameAndGivesItBackEmpty) {
  Spares spares;
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n";
  for (int round = 0; round < 3; ++round) {
    http::MessageParser parser(http::MessageParser::Direction::request);
    spares.lend_fields(parser);
    ASSERT_EQ(parser.parse_head(bytes), http::ParseStatus::done);
    ASSERT_EQ(parser.head().fields.size(), 2U);
    EXPECT_EQ(parser.head().find(bytes, "x"), "1");
    spares.take_fields(parser);
    EXPECT_TRUE(parser.head().fields.empty());
  }
}

}  // namespace
}  // namespace evenkeel::gateway
