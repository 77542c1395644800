// The closed lists that headers, metrics and logs are made of.
#include "fleet/outcome.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace evenkeel::fleet {
namespace {

TEST(Outcome, HasANameOfItsOwnForEachClass) {
  std::set<std::string_view> names;
  for (const Outcome outcome : all_outcomes) names.insert(to_string(outcome));
  EXPECT_EQ(names.size(), all_outcomes.size());
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Refusal, HasANameOfItsOwnForEachReason) {
  std::set<std::string_view> names;
  for (const Refusal refusal : all_refusals) names.insert(to_string(refusal));
  EXPECT_EQ(names.size(), all_refusals.size());
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Refusal, SaysTooManyForContentionAndUnavailableForNoCapacity) {
  std::set<std::string_view> contention, unavailable;
  for (const Refusal refusal : all_refusals) {
    const int status = http_status(refusal);
    ASSERT_TRUE(status == 429 || status == 503) << to_string(refusal);
    (status == 429 ? contention : unavailable).insert(to_string(refusal));
  }
  EXPECT_EQ(contention, (std::set<std::string_view>{"pool_full", "pool_bytes", "wait_too_long", "deadline", "redline",
                                                    "pressure"}));
  EXPECT_EQ(unavailable, (std::set<std::string_view>{"no_worker", "all_tried", "shutting_down", "no_slot",
                                                     "no_prefill_worker", "no_decode_worker"}));
}

}  // namespace
}  // namespace evenkeel::fleet
