#include "emulator/lease_table.hpp"

#include <map>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::emulator {
namespace {

using std::chrono::seconds;
using Standing = LeaseTable::Standing;

constexpr Time at(int s) { return Time{} + seconds(s); }

TEST(LeaseTable, WhatIsPulledOnceIsReusedAfterwards) {
  LeaseTable leases(seconds(30));
  leases.open("a", {7, 2}, at(0));
  const auto first = leases.end("a", true);
  EXPECT_EQ(first.standing, Standing::held);
  EXPECT_EQ(first.kept.id, 7U);
  EXPECT_EQ(first.kept.rank, 2U);
  EXPECT_EQ(leases.end("a", true).standing, Standing::reused);
  EXPECT_EQ(leases.end("b", true).standing, Standing::unknown);
  EXPECT_EQ(leases.open_leases(), 0U);
  EXPECT_FALSE(leases.next_expiry().has_value());
}

TEST(LeaseTable, WhatIsDeclinedIsForgotten) {
  LeaseTable leases(seconds(30));
  leases.open("a", {7, 0}, at(0));
  EXPECT_EQ(leases.end("a", false).standing, Standing::held);
  EXPECT_EQ(leases.end("a", true).standing, Standing::unknown);
}

TEST(LeaseTable, ALeaseEndsByTimeAndARenewalHoldsForTwoThirds) {
  LeaseTable leases(seconds(30));
  leases.open("a", {1, 0}, at(0));
  leases.open("b", {2, 0}, at(5));
  EXPECT_TRUE(leases.renew("a", at(3)));  // until 23 is less than it has
  EXPECT_EQ(leases.next_expiry(), at(30));
  EXPECT_TRUE(leases.renew("a", at(25)));
  EXPECT_EQ(leases.next_expiry(), at(35));
  EXPECT_TRUE(leases.expire(at(34)).empty());
  const auto freed = leases.expire(at(35));
  ASSERT_EQ(freed.size(), 1U);
  EXPECT_EQ(freed[0].id, 2U);
  EXPECT_FALSE(leases.renew("b", at(36)));
  EXPECT_EQ(leases.end("b", true).standing, Standing::expired);
  EXPECT_EQ(leases.expire(at(45)).size(), 1U);
  EXPECT_EQ(leases.open_leases(), 0U);
}

// Each lease is freed once, whoever ends it.
TEST(LeaseTable, EveryLeaseIsFreedOnce) {
  Random random(9);
  LeaseTable leases(seconds(30));
  std::map<engine::RequestId, int> freed;
  const auto name = [](std::uint64_t id) { return "r" + std::to_string(id); };
  constexpr std::uint64_t count = 2000;
  for (std::uint64_t id = 0; id < count; ++id) {
    const Time now = at(static_cast<int>(id));
    for (const auto& kept : leases.expire(now)) ++freed[kept.id];
    leases.open(name(id), {id, 0}, now);
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t other = id - std::min<std::uint64_t>(id, random.below(60));
      if (random.below(2) == 0) leases.renew(name(other), now);
      if (random.below(3) > 0) continue;
      const auto found = leases.end(name(other), random.below(2) == 0);
      if (found.standing == Standing::held) ++freed[found.kept.id];
    }
  }
  for (const auto& kept : leases.expire(at(static_cast<int>(count) + 40))) ++freed[kept.id];
  EXPECT_EQ(leases.open_leases(), 0U);
  EXPECT_EQ(freed.size(), count);
  for (const auto& [id, times] : freed) EXPECT_EQ(times, 1) << id;
}

}  // namespace
}  // namespace evenkeel::emulator
