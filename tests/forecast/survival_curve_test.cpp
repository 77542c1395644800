// The table against the empirical law of raw samples, Kaplan and Meier's estimate by hand, and closed forms.
#include "forecast/survival_curve.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/support/allocations.hpp"
#include "forecast/support/lives.hpp"

namespace evenkeel::forecast {
namespace {

using testing::RawLaw;

constexpr double never = std::numeric_limits<double>::infinity();

SurvivalCurve curve_of(const std::vector<std::int64_t>& lengths) {
  SurvivalCurve curve(never);
  for (const std::int64_t length : lengths) {
    curve.lived(0, length);
    curve.ended(length);
  }
  curve.rebuild();
  return curve;
}

RawLaw lognormal_law(std::uint64_t seed, int count, double mean, double cv, std::int64_t cap) {
  Random random(seed);
  RawLaw law;
  for (int i = 0; i < count; ++i) {
    law.lengths.push_back(std::clamp<std::int64_t>(std::llround(random.lognormal(mean, cv)), 1, cap));
  }
  return law;
}

TEST(LengthGrid, TilesTheLengthsInOrder) {
  EXPECT_EQ(LengthGrid::lower(0), 0);
  EXPECT_EQ(LengthGrid::lower(LengthGrid::buckets), LengthGrid::longest);
  EXPECT_EQ(LengthGrid::index(LengthGrid::longest), LengthGrid::buckets);
  for (std::size_t i = 0; i < LengthGrid::buckets; ++i) {
    const std::int64_t lower = LengthGrid::lower(i);
    const std::int64_t upper = LengthGrid::lower(i + 1);
    ASSERT_EQ(upper - lower, LengthGrid::width(i)) << i;
    ASSERT_EQ(LengthGrid::index(lower), i);
    ASSERT_EQ(LengthGrid::index(upper - 1), i);
    ASSERT_LE(LengthGrid::width(i) * 2048, std::max<std::int64_t>(lower, 2048)) << i;
  }
}

TEST(SurvivalCurve, KnowsNothingAtFirst) {
  const SurvivalCurve curve(4000);
  EXPECT_EQ(curve.remaining(0, 80), 80);
  EXPECT_EQ(curve.remaining(1'000'000'000, 80), 80);
  EXPECT_EQ(curve.survival(0, 80), 1);
}

TEST(SurvivalCurve, EqualsTheFormulasOnRawSamplesUpTo4096Tokens) {
  const RawLaw law = lognormal_law(1, 3000, 600, 0.9, 4096);
  const SurvivalCurve curve = curve_of(law.lengths);
  for (std::int64_t age = 0; age < 4096; age += 37) {
    if (law.beyond(age) == 0) break;
    for (const std::int64_t horizon : {1, 2, 80, 320, 5000}) {
      ASSERT_NEAR(curve.remaining(age, horizon), law.remaining(age, horizon), 1e-8) << age << ' ' << horizon;
      ASSERT_NEAR(1 - curve.survival(age, horizon), law.ends_within(age, horizon), 1e-11) << age << ' ' << horizon;
    }
  }
}

TEST(SurvivalCurve, StaysWithinItsStatedErrorAbove4096Tokens) {
  const RawLaw law = lognormal_law(2, 4000, 20'000, 1.2, 131'072);
  const SurvivalCurve curve = curve_of(law.lengths);
  const auto share = [&](std::int64_t from, std::int64_t to) {  // P(from < O <= to), over the bucket of both
    const std::int64_t lower = LengthGrid::lower(LengthGrid::index(from));
    const std::int64_t upper = LengthGrid::lower(LengthGrid::index(std::min(to, LengthGrid::longest - 1)) + 1);
    return (law.beyond(lower) - law.beyond(upper)) / static_cast<double>(law.lengths.size());
  };
  double worst = 0;
  for (std::int64_t age = 0; age < 131'072; age += 211) {
    if (law.beyond(age) == 0) break;
    const double alive = law.beyond(age) / static_cast<double>(law.lengths.size());
    for (const std::int64_t horizon : {1, 80, 1000, 60'000}) {
      const double error = std::abs(curve.survival(age, horizon) - (1 - law.ends_within(age, horizon)));
      ASSERT_LE(error, (share(age, age) + share(age + horizon, age + horizon)) / alive + 1e-9) << age << ' ' << horizon;
      const auto h = static_cast<double>(horizon);
      const std::int64_t last = std::min(age + horizon, LengthGrid::longest - 1);
      const auto width = static_cast<double>(LengthGrid::width(LengthGrid::index(last)));
      const double off = std::abs(curve.remaining(age, horizon) - law.remaining(age, horizon));
      ASSERT_LE(off, (width * share(age, last) + h * share(age, age)) / alive + 1e-6) << age << ' ' << horizon;
      worst = std::max(worst, off / h);
    }
  }
  EXPECT_GT(worst, 0);  // the bound is asked where the table is not exact
}

// Remission times of 21 patients on 6-MP, weeks, + still in remission when last seen (Freireich et al., Blood 21, 1963;
// the estimate is printed in most textbooks, e.g. Cox and Oakes 1984, table 1.1 and section 4.3).
TEST(SurvivalCurve, IsKaplanAndMeiersEstimateOfATextbookSample) {
  SurvivalCurve curve(never);
  for (const std::int64_t over : {6, 6, 6, 7, 10, 13, 16, 22, 23}) {
    curve.lived(0, over);
    curve.ended(over);
  }
  for (const std::int64_t seen : {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35}) curve.lived(0, seen);
  curve.rebuild();
  EXPECT_EQ(curve.survival(0, 5), 1);
  EXPECT_NEAR(curve.survival(0, 6), 0.857, 5e-4);
  EXPECT_NEAR(curve.survival(0, 7), 0.807, 5e-4);
  EXPECT_NEAR(curve.survival(0, 10), 0.753, 5e-4);
  EXPECT_NEAR(curve.survival(0, 13), 0.690, 5e-4);
  EXPECT_NEAR(curve.survival(0, 16), 0.627, 5e-4);
  EXPECT_NEAR(curve.survival(0, 22), 0.538, 5e-4);
  EXPECT_NEAR(curve.survival(0, 23), 0.448, 5e-4);
  EXPECT_NEAR(curve.survival(0, 35), 0.448, 5e-4);
  EXPECT_NEAR(curve.survival(10, 3), 11.0 / 12, 1e-12);  // 12 are seen beyond week 12, one ends at 13
  EXPECT_NEAR(curve.remaining(22, 3), 1 + 2 * 5.0 / 6, 1e-12);
  EXPECT_EQ(curve.remaining(35, 80), 80);
}

TEST(SurvivalCurve, DoesNotCareInHowManyPiecesALifeIsSeen) {
  Random random(3);
  SurvivalCurve whole(never), pieces(never);
  for (int i = 0; i < 500; ++i) {
    const auto length = static_cast<std::int64_t>(1 + random.below(12'000));
    const bool over = random.unit() < 0.7;
    whole.lived(0, length);
    std::int64_t seen = 0;
    while (seen < length) {
      const std::int64_t next = std::min<std::int64_t>(length, seen + 1 + static_cast<std::int64_t>(random.below(900)));
      pieces.lived(seen, next);
      seen = next;
    }
    if (!over) continue;
    whole.ended(length);
    pieces.ended(length);
  }
  whole.rebuild();
  pieces.rebuild();
  for (std::int64_t age = 0; age < 11'000; age += 53) {
    ASSERT_NEAR(whole.survival(age, 200), pieces.survival(age, 200), 1e-9) << age;
    ASSERT_NEAR(whole.remaining(age, 80), pieces.remaining(age, 80), 1e-7) << age;
  }
}

TEST(SurvivalCurve, GivesGeometricOutputsAConstantHazard) {
  // S(u) = 2^-u exactly: 2^(20 - u) lives end at u.
  SurvivalCurve exact(never);
  for (int u = 1; u <= 12; ++u) {
    for (int i = 0; i < (1 << (12 - u)); ++i) {
      exact.lived(0, u);
      exact.ended(u);
    }
  }
  exact.lived(0, 12);  // the one that is left
  exact.rebuild();
  for (int age = 0; age < 8; ++age) {
    for (int horizon = 1; horizon <= 4; ++horizon) {
      ASSERT_NEAR(exact.remaining(age, horizon), (1 - std::pow(0.5, horizon)) / 0.5, 1e-12);
    }
  }
  Random random(4);
  constexpr double p = 0.01;
  SurvivalCurve drawn(never);
  for (int i = 0; i < 400'000; ++i) {
    const auto length = 1 + static_cast<std::int64_t>(std::log1p(-random.unit()) / std::log1p(-p));
    drawn.lived(0, length);
    drawn.ended(length);
  }
  drawn.rebuild();
  const double expected = (1 - std::pow(1 - p, 80)) / p;
  for (const std::int64_t age : {0, 50, 100, 200, 300}) {
    // The sd of min(r, 80) is under 30; 400,000 q^age lives tell of it.
    const double error = 30 / std::sqrt(400'000 * std::pow(1 - p, static_cast<double>(age)));
    EXPECT_NEAR(drawn.remaining(age, 80), expected, 4 * error) << age;
  }
}

TEST(SurvivalCurve, ForgetsByHalfInAHalfLife) {
  constexpr double half_life = 500;
  SurvivalCurve curve(half_life);
  const auto feed = [&](std::int64_t length, int count) {
    for (int i = 0; i < count; ++i) {
      curve.lived(0, length);
      curve.ended(length);
    }
  };
  feed(100, 2000);
  feed(200, 1000);
  curve.rebuild();
  // Sums of geometric series: of the old law 2^-2 (1 - 2^-4), of the new 1 - 2^-2.
  const double old_law = std::exp2(-2) * (1 - std::exp2(-4));
  const double new_law = 1 - std::exp2(-2);
  EXPECT_NEAR(curve.survival(0, 100), new_law / (old_law + new_law), 1e-9);
  feed(200, 100'000);  // the weights are scaled back on the way
  curve.rebuild();
  EXPECT_NEAR(curve.survival(0, 100), 1, 1e-9);
  EXPECT_NEAR(curve.remaining(150, 80), 50, 1e-9);
}

TEST(SurvivalCurve, NeverRisesAndStaysInItsRange) {
  Random random(5);
  SurvivalCurve curve(300);
  for (int i = 0; i < 5000; ++i) {
    const auto length = std::clamp<std::int64_t>(std::llround(random.lognormal(3000, 2.5)), 1, 300'000);
    const auto from = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(length)));
    curve.lived(random.unit() < 0.3 ? from : 0, length);
    if (random.unit() < 0.6) curve.ended(length);
  }
  curve.rebuild();
  for (std::int64_t age = 0; age < 140'000; age += 331) {
    double before = 1;
    for (std::int64_t tokens = 0; tokens < 3000; tokens += 41) {
      const double now = curve.survival(age, tokens);
      ASSERT_LE(now, before + 1e-12) << age << ' ' << tokens;
      ASSERT_GE(now, 0);
      before = now;
    }
    const double remaining = curve.remaining(age, 80);
    ASSERT_GE(remaining, 1);
    ASSERT_LE(remaining, 80);
    double sum = 0;
    for (std::int64_t tokens = 0; tokens < 80; ++tokens) sum += curve.survival(age, tokens);
    ASSERT_NEAR(remaining, sum, 1e-6) << age;
  }
}

TEST(SurvivalCurve, AnswersWithoutAllocating) {
  const SurvivalCurve curve = curve_of(lognormal_law(6, 1000, 1185, 0.9, 16'384).lengths);
  const std::uint64_t before = testing::allocations();
  double sum = 0;
  for (std::int64_t age = 0; age < 20'000; age += 7) sum += curve.remaining(age, 80) + curve.survival(age, 80);
  EXPECT_EQ(testing::allocations(), before);
  EXPECT_GT(sum, 0);
}

}  // namespace
}  // namespace evenkeel::forecast
