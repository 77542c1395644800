// The ramp against engines by rate table, in virtual time: tests C1 to C4.
#include <gtest/gtest.h>

#include "calibrate/support/virtual_engine.hpp"

namespace evenkeel::calibrate {
namespace {

const std::vector<double> thor = {18.18, 50.71};
const std::vector<double> spark = {49.24, 87.82};

Options options() {
  Options options;
  options.ttft_bound_s = 60;
  options.max_tokens = 111;
  return options;
}

/// The sample of the level, which must have been measured.
LevelSample sample_at(const Ramp& ramp, std::int64_t level) {
  for (const LevelSample& sample : ramp.samples()) {
    if (sample.level == level) return sample;
  }
  ADD_FAILURE() << "level " << level << " was not measured";
  return {};
}

void expect_table(const Ramp& ramp, const std::vector<double>& table) {
  for (const LevelSample& sample : ramp.samples()) {
    const auto running = std::min(static_cast<std::size_t>(sample.level), table.size());
    EXPECT_NEAR(sample.tokens_per_s, table[running - 1], 0.005 * table[running - 1]) << "level " << sample.level;
    EXPECT_GE(sample.requests, 4 * sample.level);
  }
}

TEST(C1Calibration, BothTablesPlateauAtTwo) {
  for (const auto& table : {thor, spark}) {
    VirtualEngine engine(table);
    const Ramp ramp = calibrate_in_virtual_time(engine, options());
    EXPECT_EQ(ramp.knee(), (Knee{2, KneeReason::plateau}));
    ASSERT_EQ(ramp.samples().size(), 3U);
    expect_table(ramp, table);
  }
}

TEST(C1Calibration, FirstTokenIsThatOfTheStream) {
  VirtualEngine engine(thor);
  const Ramp ramp = calibrate_in_virtual_time(engine, options());
  // No prefill: the first token takes as long as any other. Two more than there are slots wait for a whole service.
  EXPECT_NEAR(sample_at(ramp, 1).ttft_s, 1 / 18.18, 1e-3);
  EXPECT_NEAR(sample_at(ramp, 2).ttft_s, 2 / 50.71, 1e-3);
  EXPECT_NEAR(sample_at(ramp, 4).ttft_s, 112 * 2 / 50.71, 1e-2);
}

TEST(C2Calibration, ThreeSlotsAreFound) {
  const std::vector<double> table = {20, 38, 54};
  VirtualEngine engine(table);
  const Ramp ramp = calibrate_in_virtual_time(engine, options());
  EXPECT_EQ(ramp.knee(), (Knee{3, KneeReason::plateau}));
  expect_table(ramp, table);
}

TEST(C2Calibration, OneBatchOfFourWouldHaveHiddenThem) {
  VirtualEngine engine({20, 38, 54});
  const double batch = throughput_of_one_batch(engine, 4, 128);
  EXPECT_NEAR(batch, 512 / (128 / 18.0 + 128 / 20.0), 0.05);  // 37.9: less than two requests at once give
  EXPECT_LT(batch, 38);
}

TEST(C2Calibration, FiveSixAndSevenSlotsAreFound) {
  for (std::size_t slots = 5; slots <= 7; ++slots) {
    std::vector<double> table;
    for (std::size_t running = 1; running <= slots; ++running) table.push_back(12.0 * static_cast<double>(running));
    VirtualEngine engine(table);
    EXPECT_EQ(calibrate_in_virtual_time(engine, options()).knee(),
              (Knee{static_cast<std::int64_t>(slots), KneeReason::plateau}));
  }
}

TEST(C3Calibration, EightOnlyIfSixteenWasTriedAndFlat) {
  const std::vector<double> table = {20, 39, 57, 74, 90, 105, 119, 132};
  VirtualEngine engine(table);
  const Ramp whole = calibrate_in_virtual_time(engine, options());
  EXPECT_EQ(whole.knee(), (Knee{8, KneeReason::plateau}));
  EXPECT_NEAR(sample_at(whole, 16).tokens_per_s, 132, 0.66);

  Options short_schedule = options();
  short_schedule.schedule = {1, 2, 4, 8};
  const Ramp cut = calibrate_in_virtual_time(engine, short_schedule);
  EXPECT_EQ(cut.knee(), (Knee{8, KneeReason::top_of_ramp}));
  EXPECT_FALSE(cut.knee().usable());
}

TEST(C4Calibration, PrefixCacheChangesNothing) {
  VirtualEngine plain({20, 38, 54});
  VirtualEngine caching({20, 38, 54});
  caching.cached_prompts_run(5);
  const Ramp without = calibrate_in_virtual_time(plain, options());
  const Ramp with = calibrate_in_virtual_time(caching, options());
  EXPECT_EQ(with.knee(), without.knee());
  ASSERT_EQ(with.samples().size(), without.samples().size());
  for (std::size_t i = 0; i < with.samples().size(); ++i) {
    EXPECT_DOUBLE_EQ(with.samples()[i].tokens_per_s, without.samples()[i].tokens_per_s);
  }
  EXPECT_EQ(caching.cached(), 0);
}

TEST(C4Calibration, EqualPromptsWouldHaveBeenFaster) {
  VirtualEngine caching({20, 38, 54});
  caching.cached_prompts_run(5);
  const Ramp ramp = calibrate_in_virtual_time(caching, options(), [] { return "the same as ever"; });
  EXPECT_GT(caching.cached(), 0);
  EXPECT_GT(sample_at(ramp, 2).tokens_per_s, 4 * 38);
}

TEST(Calibration, UnequalLengthsDoNotFalsifyALevel) {
  VirtualEngine engine(thor);
  engine.draw_lengths(20, 400);
  const Ramp ramp = calibrate_in_virtual_time(engine, options());
  EXPECT_EQ(ramp.knee(), (Knee{2, KneeReason::plateau}));
  expect_table(ramp, thor);
}

}  // namespace
}  // namespace evenkeel::calibrate
