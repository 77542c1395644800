// The rates of a worker read from what it served, against the rates it was made to serve by.
#include "load/box_rates.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "load/support/fluid_box.hpp"

namespace evenkeel::load {
namespace {

using namespace testing;

TEST(BoxRates, AreThoseItServedBy) {
  Random random(8);
  for (int i = 0; i < 50; ++i) {
    std::vector<double> rates;
    for (auto slots = 1 + random.below(5); slots > 0; --slots) rates.push_back(10 + 90 * random.unit());
    std::vector<Come> come;
    double at_s = 0;
    for (int n = 0; n < 120; ++n)
      come.push_back({at_s += 3 * random.unit(), 20.0 + static_cast<double>(random.below(200))});
    const auto found = rates_by_level(serve(rates, come));
    ASSERT_LE(found.size(), rates.size()) << i;
    int told = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (!found[k]) continue;
      ++told;
      EXPECT_NEAR(*found[k], rates[k], 1e-3 * rates[k]) << i << ", " << k + 1 << " running";
    }
    EXPECT_GE(told, 1) << i;
  }
}

TEST(BoxRates, RequestsThatRanAtTwoLevelsTellBoth) {
  // Three at once into two slots: the last runs with one, then alone.
  const auto found = rates_by_level(serve({18.18, 50.71}, {{0, 60}, {0, 111}, {0, 111}}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(found[0].value(), 18.18, 1e-3);
  EXPECT_NEAR(found[1].value(), 50.71, 1e-3);
}

TEST(BoxRates, ALevelThatNeverRanIsNotTold) {
  const auto found = rates_by_level(serve({18.18, 50.71}, {{0, 111}, {0, 111}}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].has_value());
  EXPECT_NEAR(found[1].value(), 50.71, 1e-6);
}

TEST(BoxRates, ALevelOfAMomentIsNotTold) {
  // One ends 10 ms before the other: no more than a hundredth of the time alone.
  const std::vector<Served> served = {{0, 4.37, 111}, {0, 4.38, 111}};
  const auto found = rates_by_level(served);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].has_value());
  EXPECT_NEAR(found[1].value(), 222 / 4.37, 0.01);
}

TEST(BoxRates, NothingServedAndTooManyAtOnceTellNothing) {
  EXPECT_TRUE(rates_by_level({}).empty());
  EXPECT_TRUE(rates_by_level(std::vector<Served>{{1, 1, 5}}).empty());
  std::vector<Served> crowd(most_measured_slots, Served{0, 1, 10});
  EXPECT_EQ(rates_by_level(crowd).size(), most_measured_slots);
  crowd.push_back({0.5, 1, 10});
  EXPECT_TRUE(rates_by_level(crowd).empty());
}

TEST(BoxRates, EachOfManyLevelsThatTookEquallyLongIsTold) {
  std::vector<double> rates;
  std::vector<Served> served;
  for (std::size_t k = 0; k < most_measured_slots; ++k) {
    const auto begin = static_cast<double>(k);
    for (std::size_t n = 0; n <= k; ++n) served.push_back({begin, begin + 1, 2 + 1.0 / static_cast<double>(k + 1)});
  }
  const auto found = rates_by_level(served);
  ASSERT_EQ(found.size(), most_measured_slots);
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_TRUE(found[k].has_value()) << k;
    EXPECT_NEAR(*found[k], 2 * static_cast<double>(k + 1) + 1, 1e-6) << k;
  }
}

}  // namespace
}  // namespace evenkeel::load
