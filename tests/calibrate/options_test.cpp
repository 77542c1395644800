#include "calibrate/options.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace evenkeel::calibrate {
namespace {

Options good() {
  Options options;
  options.ttft_bound_s = 1;
  return options;
}

TEST(C7Options, WhatIsNoPositiveFiniteNumberIsRefusedByItsFlag) {
  const std::pair<const char*, double Options::*> numbers[] = {{"--ttft-bound-s", &Options::ttft_bound_s},
                                                               {"--min-relative-gain", &Options::min_relative_gain},
                                                               {"--timeout", &Options::timeout_s}};
  ASSERT_TRUE(validate(good()));
  for (const auto& [flag, member] : numbers) {
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(), 0.0, -1.0}) {
      Options options = good();
      options.*member = value;
      const auto verdict = validate(options);
      ASSERT_FALSE(verdict) << flag << " " << value;
      EXPECT_TRUE(verdict.error().message.starts_with(flag)) << verdict.error().message;
      EXPECT_NE(verdict.error().message.find("allowed: "), std::string::npos);
    }
  }
  for (const std::int64_t tokens : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{65537}}) {
    Options options = good();
    options.max_tokens = tokens;
    EXPECT_FALSE(validate(options)) << tokens;
  }
}

TEST(C7Options, BoundMustBeGiven) { EXPECT_FALSE(validate(Options{})); }

TEST(C7Options, SchedulesAscend) {
  for (const char* text : {"", "0", "0,1", "-1", "1,1", "2,1", "1,,2", "1.5", "nan", "1,2048", "one", "1e3"}) {
    Options options = good();
    const auto levels = parse_schedule(text);
    if (levels) options.schedule = *levels;
    const auto verdict = levels ? validate(options) : tl::unexpected(levels.error());
    ASSERT_FALSE(verdict) << "\"" << text << "\"";
    EXPECT_TRUE(verdict.error().message.starts_with("--schedule is ")) << verdict.error().message;
  }
  EXPECT_EQ(parse_schedule("1,2, 4"), (std::vector<std::int64_t>{1, 2, 4}));
}

}  // namespace
}  // namespace evenkeel::calibrate
