#include "dispatch/held_times.hpp"

#include <gtest/gtest.h>

namespace evenkeel::dispatch {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(HeldTimes, EachTimeCountsAtTheFirstBoundThatHoldsIt) {
  HeldTimes held;
  held.note(nanoseconds(0));
  held.note(microseconds(1));
  held.note(nanoseconds(1001));
  held.note(microseconds(100));
  held.note(nanoseconds(100'001));
  held.note(std::chrono::seconds(1));
  std::uint64_t all = 0;
  for (std::size_t i = 0; i <= HeldTimes::bounds_us.size(); ++i) all += held.count(i);
  EXPECT_EQ(all, 6U);
  EXPECT_EQ(held.count(0), 2U);  // to 1 us
  EXPECT_EQ(held.count(1), 1U);  // to 2 us
  EXPECT_EQ(held.count(6), 1U);  // to 100 us
  EXPECT_EQ(held.count(7), 1U);  // to 200 us
  EXPECT_EQ(held.count(HeldTimes::bounds_us.size()), 1U);
  EXPECT_EQ(held.sum(), std::chrono::seconds(1) + microseconds(1 + 1 + 100 + 100) + nanoseconds(2));
}

}  // namespace
}  // namespace evenkeel::dispatch
