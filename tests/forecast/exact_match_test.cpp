// Histories by key and by prompt length against the formulas on raw samples, and the order of falling back.
#include "forecast/exact_match.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/support/allocations.hpp"
#include "forecast/support/lives.hpp"

namespace evenkeel::forecast {
namespace {

using namespace testing;

TEST(RecentLives, EqualsTheFormulasOnTheLastSamples) {
  Random random(1);
  RecentLives recent(64);
  std::vector<std::int64_t> all;
  for (int i = 0; i < 500; ++i) {
    const auto length = static_cast<std::int32_t>(1 + random.below(300));
    recent.add(length);
    all.push_back(length);
    const auto kept = std::min<std::ptrdiff_t>(64, std::ssize(all));
    const RawLaw law{{all.end() - kept, all.end()}};
    for (const std::int64_t age : {0, 1, 57, 150, 299, 300}) {
      for (const std::int64_t horizon : {1, 80, 1000}) {
        const auto remaining = recent.lives().remaining(age, horizon);
        const auto survival = recent.lives().survival(age, horizon);
        ASSERT_EQ(remaining.has_value(), law.beyond(age) > 0);
        ASSERT_EQ(survival.has_value(), law.beyond(age) > 0);
        if (!remaining) continue;
        ASSERT_NEAR(*remaining, law.remaining(age, horizon), 1e-9);
        ASSERT_NEAR(1 - *survival, law.ends_within(age, horizon), 1e-12);
      }
    }
  }
}

TEST(PromptBuckets, HoldEqualNumbersByPromptLength) {
  Random random(2);
  PromptBuckets buckets(16, 1600, 400);
  std::vector<std::pair<std::int64_t, std::int32_t>> all;
  for (int i = 0; i < 4000; ++i) {
    const auto prompt = static_cast<std::int64_t>(random.below(100'000));
    const auto length = static_cast<std::int32_t>(1 + random.below(1000));
    buckets.add(prompt, length);
    all.emplace_back(prompt, length);
  }
  std::vector<std::pair<std::int64_t, std::int32_t>> last(all.end() - 1600, all.end());
  std::sort(last.begin(), last.end());
  for (std::size_t bucket = 0; bucket < 16; ++bucket) {
    std::vector<std::int32_t> expected;
    for (std::size_t i = bucket * 100; i < bucket * 100 + 100; ++i) expected.push_back(last[i].second);
    std::sort(expected.begin(), expected.end());
    const EndedLives lives = buckets.lives(last[bucket * 100 + 50].first);
    if (last[bucket * 100 + 99].first == last[std::min<std::size_t>(bucket * 100 + 100, 1599)].first) continue;
    ASSERT_EQ(std::vector<std::int32_t>(lives.lengths.begin(), lives.lengths.end()), expected) << bucket;
    ASSERT_EQ(lives.sums.back(), std::accumulate(expected.begin(), expected.end(), std::int64_t{0}));
  }
}

TEST(PromptBuckets, PutEqualPromptsIntoOne) {
  PromptBuckets buckets(16, 160, 160);
  for (std::int32_t i = 1; i <= 160; ++i) buckets.add(i <= 150 ? 7 : 8, i);
  EXPECT_EQ(buckets.lives(7).lengths.size(), 150U);
  EXPECT_EQ(buckets.lives(8).lengths.size(), 10U);
  EXPECT_EQ(buckets.lives(0).lengths.size(), 150U);
  EXPECT_EQ(buckets.lives(1'000'000).lengths.size(), 10U);
}

TEST(ExactMatch, AsksTheKeyThenThePromptLengthThenAll) {
  ExactMatch forecast({.bucket_period = 64});
  // Short prompts end at 100, long ones at 300; key 9 at 1000 whatever its prompt.
  std::uint64_t id = 0;
  for (int i = 0; i < 320; ++i) {
    forecast.finished(ended(++id, 100, 0, 10 + i % 7), Time{});
    forecast.finished(ended(++id, 300, 0, 5000 + i), Time{});
  }
  EXPECT_EQ(forecast.remaining(in_service(1, 0, 0, 12), 1000), 100);
  EXPECT_EQ(forecast.remaining(in_service(1, 0, 0, 5100), 1000), 300);
  for (int i = 0; i < 4; ++i) forecast.finished(ended(++id, 1000, 9, 12), Time{});
  EXPECT_LT(forecast.remaining(in_service(1, 0, 9, 12), 5000), 200) << "four lives are too few";
  forecast.finished(ended(++id, 1000, 9, 12), Time{});
  EXPECT_EQ(forecast.remaining(in_service(1, 0, 9, 12), 5000), 1000);
  EXPECT_EQ(forecast.survival(in_service(1, 950, 9, 12), 49), 1);
  EXPECT_EQ(forecast.survival(in_service(1, 950, 9, 12), 50), 0);
  // Beyond the key's and the bucket's lives: all. 300 of long prompts, none of short ones.
  EXPECT_NEAR(forecast.remaining(in_service(1, 150, 0, 12), 80), 80, 1e-9);
  EXPECT_EQ(forecast.remaining(in_service(1, 2000, 9, 12), 80), 80) << "nobody knows";
}

TEST(ExactMatch, DoesNotLetAFewLongLivesSpeakForABucket) {
  ExactMatch forecast({.bucket_period = 64});
  std::uint64_t id = 0;
  for (int i = 0; i < 320; ++i) {
    // Of prompts of 10 four lasted 500; of prompts of 5000 all lasted 1000.
    forecast.finished(ended(++id, i < 4 ? 500 : 100, 0, 10), Time{});
    forecast.finished(ended(++id, 1000, 0, 5000), Time{});
  }
  EXPECT_NEAR(forecast.survival(in_service(1, 50, 0, 10), 100), 4.0 / 320, 1e-9);
  EXPECT_GT(forecast.survival(in_service(1, 450, 0, 10), 80), 0.9) << "most of all that reached 450 go on";
  // A key is trusted to its last life.
  for (int i = 0; i < 5; ++i) forecast.finished(ended(++id, i == 0 ? 500 : 100, 3, 10), Time{});
  EXPECT_EQ(forecast.survival(in_service(1, 450, 3, 10), 80), 0);
}

TEST(ExactMatch, KeepsABoundedNumberOfKeysThoseThatEndedLast) {
  ExactMatch forecast({.keys = 100, .bucket_period = 1'000'000});
  std::uint64_t id = 0;
  const auto end_five = [&](std::uint64_t key, std::int64_t output) {
    for (int i = 0; i < 5; ++i) forecast.finished(ended(++id, output, key), Time{});
  };
  for (std::uint64_t key = 1; key <= 100; ++key) end_five(key, 500);
  forecast.finished(ended(++id, 500, 1), Time{});  // key 1 is used again
  end_five(1000, 900);                             // so 2 has to go
  EXPECT_EQ(forecast.keys(), 100U);
  EXPECT_EQ(forecast.remaining(in_service(1, 0, 1), 10'000), 500);
  EXPECT_EQ(forecast.remaining(in_service(1, 0, 1000), 10'000), 900);
  EXPECT_GT(forecast.remaining(in_service(1, 0, 2), 10'000), 500);
  for (std::uint64_t key = 2000; key < 4000; ++key) end_five(key, 700);
  EXPECT_EQ(forecast.keys(), 100U);
}

TEST(ExactMatch, LearnsOnlyFromThoseThatCompleted) {
  ExactMatch forecast;
  for (std::uint64_t i = 0; i < 50; ++i) {
    forecast.finished(ended(2 * i, 400, 3), Time{});
    forecast.finished(ended(2 * i + 1, 20, 3, 100, fleet::Outcome::transport_fault), Time{});
  }
  EXPECT_EQ(forecast.remaining(in_service(1, 0, 3), 1000), 400);
}

TEST(ExactMatch, AnswersWithoutAllocating) {
  ExactMatch forecast;
  Random random(5);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    forecast.finished(ended(i, 1 + static_cast<std::int64_t>(random.below(900)), 1 + i % 40), Time{});
  }
  const std::uint64_t before = allocations();
  double sum = 0;
  for (std::uint64_t key = 0; key < 50; ++key) {
    for (std::int64_t age = 0; age < 1000; age += 50) {
      sum += forecast.remaining(in_service(1, age, key), 80) + forecast.survival(in_service(1, age, key), 80);
    }
  }
  EXPECT_EQ(allocations(), before);
  EXPECT_GT(sum, 0);
}

}  // namespace
}  // namespace evenkeel::forecast
