// The growth floor: what the residents of a worker will need, against simulated lives.
#include "redline/projection.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "maths/normal.hpp"

namespace evenkeel::redline {
namespace {

struct Life {
  double held;
  double mean_left;
};

Projection projection_of(const std::vector<Life>& lives) {
  Projection projection;
  for (const Life& life : lives) {
    projection.add(Projection::part_of(life.held, 1, 4, [&](double u) { return std::exp(-u / life.mean_left); }));
  }
  return projection;
}

/// Share of simulated futures whose largest sum is over `line`.
double share_over(const std::vector<Life>& lives, double line, Random& random) {
  constexpr int futures = 4000;
  int over = 0;
  std::vector<double> ends(lives.size());
  for (int future = 0; future < futures; ++future) {
    for (std::size_t i = 0; i < lives.size(); ++i) ends[i] = random.exponential(lives[i].mean_left);
    double most = 0;
    for (const double at : ends) {  // the sum rises until somebody ends
      double sum = 0;
      for (std::size_t i = 0; i < lives.size(); ++i) {
        if (ends[i] >= at) sum += lives[i].held + at;
      }
      most = std::max(most, sum);
    }
    if (most > line) ++over;
  }
  return static_cast<double>(over) / futures;
}

TEST(Projection, ItsPeakIsExceededAboutAsSeldomAsItsLevelSays) {
  Random random(3);
  for (int round = 0; round < 6; ++round) {
    std::vector<Life> lives;
    for (std::uint64_t i = 10 + random.below(60); i > 0; --i) {
      lives.push_back({50 + 500 * random.unit(), 100 + 400 * random.unit()});
    }
    const Projection projection = projection_of(lives);
    // The bound is of each instant, and the largest of all is over it somewhat more often.
    EXPECT_LT(share_over(lives, projection.peak(maths::normal_quantile(0.999)), random), 0.012) << round;
    EXPECT_GT(share_over(lives, projection.peak(maths::normal_quantile(0.6)), random), 0.1) << round;
  }
}

TEST(Projection, OfLivesThatAreBoundedIsTheirSumAtTheEnd) {
  Projection projection;
  const auto until = [](double bound) { return [bound](double u) { return u <= bound ? 1.0 : 0.0; }; };
  for (int i = 0; i < 10; ++i) projection.add(Projection::part_of(100, 1, 1, until(300)));
  EXPECT_GE(projection.peak(4), 10 * (100 + 300));
  EXPECT_LE(projection.peak(4), 10 * (100 + 300 * 1.17));
  EXPECT_NEAR(projection.drawdown(4), projection.peak(4) - 1000, 1e-9);
  projection.clear();
  EXPECT_EQ(projection.peak(4), 0);
  EXPECT_EQ(projection.drawdown(4), 0);
}

TEST(Projection, WithOneMoreIsAsIfThatHadBeenAdded) {
  std::vector<Life> lives(20, {300, 200});
  Projection projection = projection_of(lives);
  const auto part = Projection::part_of(777, 1, 4, [](double u) { return std::exp(-u / 90); });
  const double with = projection.peak_with(part, 3);
  EXPECT_GT(with, projection.peak(3) + 600);
  projection.add(part);
  EXPECT_DOUBLE_EQ(projection.peak(3), with);
}

/// Published: 7.4 residents that grow 4.965 MB/s for 90 s without an end burn 3.3 GB.
TEST(GrowthBound, IsTheSpecimens) { EXPECT_NEAR(growth_bound(4.96485e-3, 7.4, 90), 3.3, 0.02); }

}  // namespace
}  // namespace evenkeel::redline
