#include "gateway/cache_watch.hpp"

#include <gtest/gtest.h>

namespace evenkeel::gateway {
namespace {

engines::Report caching(std::int64_t tokens) {
  engines::Report report;
  report.kv_capacity = Tokens(tokens);
  report.prefix_caching = true;
  return report;
}

TEST(CacheWatch, AnEngineThatSaysItCachesNothingOrSaysNothingIsNotKeptAccountOf) {
  CacheWatch watch(-1);
  EXPECT_EQ(watch.blocks(0), 0U);
  EXPECT_FALSE(watch.see({}));
  EXPECT_EQ(watch.blocks(64), 0U);
  engines::Report report = caching(6400);
  report.prefix_caching.reset();
  EXPECT_FALSE(watch.see(report));
  EXPECT_EQ(watch.blocks(64), 0U);
  EXPECT_FALSE(watch.see(caching(6400)));
  EXPECT_EQ(watch.blocks(64), 100U);
  EXPECT_FALSE(watch.see({}));  // a page that did not come says nothing new
  EXPECT_EQ(watch.blocks(64), 100U);
  report.prefix_caching = false;
  EXPECT_FALSE(watch.see(report));
  EXPECT_EQ(watch.blocks(64), 0U);
}

TEST(CacheWatch, WhatTheOperatorSaysCounts) {
  CacheWatch none(0);
  EXPECT_FALSE(none.see(caching(6400)));
  EXPECT_EQ(none.blocks(64), 0U);
  CacheWatch some(1280);
  EXPECT_EQ(some.blocks(0), 20U);  // 64 tokens a block until more is known
  EXPECT_FALSE(some.see({}));
  EXPECT_EQ(some.blocks(128), 10U);
}

TEST(CacheWatch, ItsSizeFollowsWhatABlockStandsForOnlyWhereThatMatters) {
  CacheWatch watch(-1);
  EXPECT_FALSE(watch.see(caching(64000)));
  EXPECT_EQ(watch.blocks(64), 1000U);
  EXPECT_EQ(watch.blocks(60), 1000U);  // 1,066
  EXPECT_EQ(watch.blocks(80), 1000U);  // 800
  EXPECT_EQ(watch.blocks(100), 640U);
  EXPECT_EQ(watch.blocks(90), 640U);        // 711
  EXPECT_FALSE(watch.see(caching(64640)));  // it says something else: at once
  EXPECT_EQ(watch.blocks(100), 646U);
}

TEST(CacheWatch, AnotherStartTimeOrCountersThatFellAreAnotherProcess) {
  CacheWatch watch(-1);
  engines::Report report = caching(6400);
  report.started = 1000.5;
  report.prompt_total = 50;
  EXPECT_FALSE(watch.see(report)) << "nothing to compare with";
  report.prompt_total = 70;
  EXPECT_FALSE(watch.see(report));
  report.prompt_total = 20;
  EXPECT_TRUE(watch.see(report));
  EXPECT_FALSE(watch.see(report));
  report.started = 2000.5;
  report.prompt_total = 9000;
  EXPECT_TRUE(watch.see(report));
  EXPECT_FALSE(watch.see({}));
  EXPECT_FALSE(watch.see(report));
}

TEST(CacheWatch, WhoWasUnreachableIsAnotherUnlessItTellsThatItIsNot) {
  CacheWatch silent(640);
  EXPECT_FALSE(silent.see({}));
  silent.unreachable();
  EXPECT_TRUE(silent.see({}));
  EXPECT_FALSE(silent.see({}));
  CacheWatch telling(-1);
  engines::Report report = caching(6400);
  report.started = 1000.5;
  EXPECT_FALSE(telling.see(report));
  telling.unreachable();
  EXPECT_FALSE(telling.see(report)) << "it was only slow";
}

}  // namespace
}  // namespace evenkeel::gateway
