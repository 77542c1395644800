#include "gateway/peer_load.hpp"

#include <gtest/gtest.h>

namespace evenkeel::gateway {
namespace {

TEST(PeerLoad, ReadsBackWhatIsWritten) {
  PeerLoad load{{17, 5, 3, 2}, 4, std::chrono::microseconds(12345)};
  const auto read = read_load(write_load(load));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->news.epoch, 17U);
  EXPECT_EQ(read->news.sequence, 5U);
  EXPECT_EQ(read->news.active, 3);
  EXPECT_EQ(read->news.yours, 2);
  EXPECT_EQ(read->slots, 4);
  EXPECT_EQ(read->took, std::chrono::microseconds(12345));
}

TEST(PeerLoad, IsOneLineOfKeysThatMayBeMissing) {
  EXPECT_EQ(write_load({{1, 2, 3, 0}, {}, {}}), "epoch=1;seq=2;active=3;yours=0");
  const auto read = read_load("active=3; yours=0 ;epoch=1;seq=2;colour=blue");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->slots);
  EXPECT_FALSE(read->took);
  EXPECT_EQ(read->news.active, 3);
}

TEST(PeerLoad, WhatCannotBeIsNoLoad) {
  for (const char* text :
       {"", "full", "epoch=1;seq=2;active=3", "epoch=1;seq=2;active=-3;yours=0", "epoch=1;seq=2;active=1;yours=2",
        "epoch=1;seq=2;active=1e3;yours=0", "epoch=1;seq=2;active=1000001;yours=0",
        "epoch=1;seq=99999999999999999999999;active=1;yours=0", "epoch=1;seq=2;active=3;yours=0;slots=nan",
        "epoch=1;seq=2;active=3;yours=0;took-ms=nan", "epoch=1;seq=2;active=3;yours=0;took-ms=-1",
        "epoch=1;seq=2;active=3;yours=0;took-ms=86400001", "epoch=1;seq=2;active=3;yours=0;x"}) {
    EXPECT_FALSE(read_load(text)) << text;
  }
  EXPECT_FALSE(read_load("epoch=1;seq=2;active=3;yours=0;" + std::string(600, 'x') + "=1"));
}

}  // namespace
}  // namespace evenkeel::gateway
