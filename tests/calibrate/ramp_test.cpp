#include "calibrate/ramp.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::calibrate {
namespace {

const std::vector<std::int64_t> doubling = {1, 2, 4, 8, 16, 32};

/// Measures whatever the ramp asks for by a formula.
Ramp climb(const std::function<LevelSample(std::int64_t)>& engine, std::vector<std::int64_t> schedule = doubling,
           double ttft_bound_s = 1) {
  Ramp ramp(std::move(schedule), ttft_bound_s, 0.10);
  int measured = 0;
  while (const auto level = ramp.next()) {
    LevelSample sample = engine(*level);
    sample.level = *level;
    ramp.measured(sample);
    if (++measured > 64) break;
  }
  EXPECT_LE(measured, 7 + 2 * 4) << "levels measured";
  return ramp;
}

std::vector<std::int64_t> levels(const Ramp& ramp) {
  std::vector<std::int64_t> all;
  for (const LevelSample& sample : ramp.samples()) all.push_back(sample.level);
  return all;
}

LevelSample rate(double tokens_per_s, double ttft_s = 0.1) {
  LevelSample sample;
  sample.tokens_per_s = tokens_per_s;
  sample.ttft_s = ttft_s;
  return sample;
}

/// Linear up to `slots`, flat from there.
auto linear(std::int64_t slots) {
  return [slots](std::int64_t level) { return rate(10.0 * static_cast<double>(std::min(level, slots))); };
}

TEST(Ramp, FindsEveryNumberOfSlotsBelowTheTopOfItsSchedule) {
  for (std::int64_t slots = 1; slots <= 32; ++slots) {
    const Knee knee = climb(linear(slots), {1, 2, 4, 8, 16, 32, 64}).knee();
    const std::int64_t found = slots == 17 ? 16 : slots;  // 170 are less than a tenth over 160
    EXPECT_EQ(knee, (Knee{found, KneeReason::plateau})) << slots << " slots";
  }
}

TEST(Ramp, SaysTheTopIfTheScheduleEndsBeforeThePlateau) {
  EXPECT_EQ(climb(linear(32)).knee(), (Knee{32, KneeReason::top_of_ramp}));
  EXPECT_EQ(climb(linear(20)).knee(), (Knee{32, KneeReason::top_of_ramp})) << "32 gained over 16";
  EXPECT_EQ(climb(linear(8), {1, 2, 4, 8}).knee(), (Knee{8, KneeReason::top_of_ramp}));
  EXPECT_EQ(climb(linear(8), {1, 2, 4, 8, 16}).knee(), (Knee{8, KneeReason::plateau}));
}

TEST(Ramp, NoiseOfTwoPercentMovesItByAFewSlotsAtMost) {
  Random random(7);
  for (std::int64_t slots = 2; slots <= 16; ++slots) {
    const auto noisy = [&](std::int64_t level) {
      LevelSample sample = linear(slots)(level);
      sample.tokens_per_s *= 0.98 + 0.04 * random.unit();
      return sample;
    };
    const Knee knee = climb(noisy).knee();
    EXPECT_EQ(knee.reason, KneeReason::plateau);
    EXPECT_NEAR(static_cast<double>(knee.level), static_cast<double>(slots), 0.25 * static_cast<double>(slots));
  }
}

TEST(Ramp, LooksAboveWhereTheNextLevelDoesWorse) {
  // Six fit; with more the engine throws work away.
  const auto thrashing = [](std::int64_t level) { return rate(level <= 6 ? 10.0 * static_cast<double>(level) : 30); };
  EXPECT_EQ(climb(thrashing).knee(), (Knee{6, KneeReason::plateau}));
}

TEST(Ramp, LooksForTheLastLevelWithinTheBound) {
  const auto late_from = [](std::int64_t late) {
    return [late](std::int64_t level) { return rate(10.0 * static_cast<double>(level), level >= late ? 2 : 0.5); };
  };
  for (std::int64_t late = 2; late <= 32; ++late) {
    EXPECT_EQ(climb(late_from(late)).knee(), (Knee{late - 1, KneeReason::ttft_bound})) << late;
  }
  EXPECT_EQ(climb(late_from(1)).knee(), (Knee{0, KneeReason::ttft_bound}));
}

TEST(Ramp, PlateauBelowTheBoundIsFound) {
  // Three slots; from the fifth request on a first token is late.
  const auto engine = [](std::int64_t level) {
    return rate(10.0 * static_cast<double>(std::min<std::int64_t>(level, 3)), level >= 5 ? 2 : 0.5);
  };
  EXPECT_EQ(climb(engine).knee(), (Knee{3, KneeReason::plateau}));
}

TEST(Ramp, MeasuresNoLevelTwice) {
  for (std::int64_t slots = 1; slots <= 31; ++slots) {
    auto all = levels(climb(linear(slots)));
    EXPECT_TRUE(std::ranges::is_sorted(all));
    EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << slots << " slots";
  }
}

TEST(Ramp, MeasuresTheFewestLevelsWhereTheTableHasTwoSlots) {
  EXPECT_EQ(levels(climb(linear(2))), (std::vector<std::int64_t>{1, 2, 4}));
}

}  // namespace
}  // namespace evenkeel::calibrate
