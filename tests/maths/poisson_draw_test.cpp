#include "maths/poisson_draw.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace evenkeel::maths {
namespace {

TEST(PoissonDraws, HaveMeanAndVariance) {
  Random random(9);
  constexpr int draws = 40'000;
  for (const double mean : {0.3, 7.4, 71.04}) {
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < draws; ++i) {
      const double off = draw_poisson(mean, random) - mean;
      sum += off;
      squares += off * off;
    }
    EXPECT_NEAR(sum / draws, 0, 4 * std::sqrt(mean / draws)) << mean;
    EXPECT_NEAR(squares / draws / mean, 1, 0.06) << mean;
  }
  EXPECT_EQ(draw_poisson(0, random), 0);
}

TEST(PoissonDraws, NothingIsAsProbableAsTheLawSays) {
  Random random(10);
  constexpr int draws = 100'000;
  int none = 0;
  for (int i = 0; i < draws; ++i) none += draw_poisson(1.5, random) == 0 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(none) / draws, std::exp(-1.5), 0.006);
}

}  // namespace
}  // namespace evenkeel::maths
