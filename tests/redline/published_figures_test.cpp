// Figures of the published specimen (Llama-2-70B on 4 x A100 40 GB, heavy tasks Pareto of index 2.2 and mean 300 s, a
// window of 90 s), and of exact evaluations of its laws.

#include <gtest/gtest.h>

#include "redline/arrival_reserve.hpp"
#include "redline/footprint.hpp"
#include "redline/headroom.hpp"
#include "redline/trigger.hpp"

namespace evenkeel::redline {
namespace {

constexpr double prompt_gb = 0.334;
constexpr double sigma_gb_per_s = 4.96485e-3;
constexpr double level = 32.0 / 33.0;
constexpr double node_gb = 31.80;

FootprintLaw specimen() {
  const double alpha = 2.2;
  const double least_s = 300 * (alpha - 1) / alpha;
  return {prompt_gb, sigma_gb_per_s, 90, 300, alpha * least_s * least_s / (alpha - 2)};
}

TEST(Footprint, HasFivePublishedReadings) {
  EXPECT_NEAR(footprint(specimen(), FootprintReading::admission), 0.334, 5e-4);
  EXPECT_NEAR(footprint(specimen(), FootprintReading::window_mean), 0.5574, 5e-5);
  EXPECT_NEAR(footprint(specimen(), FootprintReading::window_close), 0.7808, 5e-5);
  EXPECT_NEAR(footprint(specimen(), FootprintReading::mean_duration), 1.824, 1e-3);
  EXPECT_NEAR(footprint(specimen(), FootprintReading::residency_mean), 2.77, 5e-3);
}

TEST(Footprint, OfRequestsThatEndWithinTheWindowGoesNoFurtherThanTheirMean) {
  FootprintLaw brief = specimen();
  brief.mean_s = 10;
  EXPECT_NEAR(footprint(brief, FootprintReading::window_close), prompt_gb + 10 * sigma_gb_per_s, 1e-12);
}

TEST(Footprint, ReadingsGoByTheirNames) {
  for (const FootprintReading reading : all_footprint_readings) {
    EXPECT_EQ(footprint_reading_named(to_string(reading)), reading);
  }
  EXPECT_FALSE(footprint_reading_named("mean").has_value());
}

/// Exact quantiles of the compound Poisson law (Panjer's recursion, checked against rational Irwin-Hall mixtures).
TEST(ArrivalReserve, IsCloseToTheExactQuantileOfPooledWindows) {
  struct Row {
    int nodes;
    double exact_gb;
    double within_gb;
  };
  for (const Row& row : {Row{1, 3.0735, 0.008}, Row{4, 8.3943, 0.002}, Row{8, 14.6727, 0.001}, Row{16, 26.4490, 0.001},
                         Row{32, 48.9007, 0.001}, Row{128, 176.7485, 0.001}, Row{200, 270.3709, 0.001}}) {
    const WindowDemand demand{2.22 * row.nodes, prompt_gb, prompt_gb + 90 * sigma_gb_per_s};
    EXPECT_NEAR(arrival_reserve(demand, level), row.exact_gb, row.within_gb) << row.nodes;
  }
}

TEST(ArrivalReserve, OfHigherLevels) {
  const WindowDemand fleet{71.04, prompt_gb, prompt_gb + 90 * sigma_gb_per_s};
  EXPECT_NEAR(arrival_reserve(fleet, 0.99), 51.26, 0.01);
  EXPECT_NEAR(arrival_reserve(fleet, 0.999), 55.35, 0.01);
  EXPECT_NEAR(arrival_reserve(fleet, 0.99999), 61.86, 0.02);
  EXPECT_EQ(arrival_reserve({0, 1, 2}, level), 0);
}

/// A local line of 9.7 % at every node keeps the sum over a pooled trigger: it never fires, and frees nothing.
TEST(AggregateTrigger, AsPublishedNeverFiresOverLocalLines) {
  const double local = 3.08;
  FleetHeadroom all_at_their_line;
  for (int node = 0; node < 32; ++node) all_at_their_line.add(local, local);
  AggregateTrigger published(48.90, 1, true);
  EXPECT_FALSE(published.look(all_at_their_line));
  AggregateTrigger corrected(48.90, 1);
  EXPECT_TRUE(corrected.look(all_at_their_line));
  EXPECT_DOUBLE_EQ(all_at_their_line.stranded(), 1);
}

TEST(Dominant, FollowsTheHandCheckOfTheDefinition) {
  const auto fraction = [](double headroom) {
    Amounts capacity;
    Amounts left;
    capacity[Resource::kv_memory] = node_gb;
    left[Resource::kv_memory] = headroom * node_gb;
    return dominant(capacity, left, {}).fraction;
  };
  const double a = fraction(0.71), b = fraction(0.34), c = fraction(0.58), d = fraction(0.12);
  EXPECT_GT(a, c);  // of {A, C}: A
  EXPECT_GT(b, d);  // of {B, D}: B
}

}  // namespace
}  // namespace evenkeel::redline
