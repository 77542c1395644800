#include "report/numbers.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace evenkeel::report {
namespace {

TEST(Numbers, ShortFormKeepsThreeDigits) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(7.5), "7.5");
  EXPECT_EQ(short_number(0.0421), "0.0421");
  EXPECT_EQ(short_number(12.345), "12.3");
  EXPECT_EQ(short_number(99.96), "100");
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(999.7), "1k");
  EXPECT_EQ(short_number(1234), "1.23k");
  EXPECT_EQ(short_number(999'600), "1M");
  EXPECT_EQ(short_number(-45.6e6), "-45.6M");
  EXPECT_EQ(short_number(7.89e9), "7.89G");
  EXPECT_EQ(short_number(2e15), "2e+03T");
  EXPECT_EQ(short_number(1.5e-7), "1.5e-07");
  EXPECT_EQ(short_number(std::nan("")), "-");
}

TEST(Numbers, GroupsAndShares) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(percent(0.123), "12.3 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(fixed(2.345, 1), "2.3");
  EXPECT_EQ(fixed(std::numeric_limits<double>::infinity(), 1), "-");
}

TEST(Numbers, DurationsChooseTheirUnit) {
  EXPECT_EQ(short_duration(std::chrono::nanoseconds(850)), "850 ns");
  EXPECT_EQ(short_duration(std::chrono::nanoseconds(1500)), "1.5 \xC2\xB5s");
  EXPECT_EQ(short_duration(std::chrono::microseconds(1234)), "1.23 ms");
  EXPECT_EQ(short_duration(std::chrono::nanoseconds(999'960'000)), "1 s");
  EXPECT_EQ(short_duration(std::chrono::milliseconds(45'600)), "45.6 s");
  EXPECT_EQ(short_duration(std::chrono::seconds(725)), "12 min 5 s");
  EXPECT_EQ(short_duration(std::chrono::minutes(200)), "3 h 20 min");
  EXPECT_EQ(short_duration(-std::chrono::milliseconds(20)), "-20 ms");
}

TEST(Numbers, BytesAreBinary) {
  EXPECT_EQ(short_bytes(512), "512 B");
  EXPECT_EQ(short_bytes(1536), "1.5 KiB");
  EXPECT_EQ(short_bytes(2 << 20), "2 MiB");
  EXPECT_EQ(short_bytes(1000 * 1024), "1000 KiB");
  EXPECT_EQ(short_bytes(std::int64_t{3} << 30), "3 GiB");
}

TEST(Numbers, WidthCountsTerminalColumns) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("\xC2\xB5s"), 2);
  EXPECT_EQ(display_width("\xE6\xBC\xA2\xE5\xAD\x97"), 4);  // two Han characters
  EXPECT_EQ(display_width("e\xCC\x81"), 1);                 // e and a combining acute accent
  EXPECT_EQ(display_width("\xF0\x9F\x9A\xA2"), 2);          // a ship
  EXPECT_EQ(display_width("\xFF\xC3"), 2);                  // not UTF-8
  EXPECT_EQ(display_width("\xC0\x80"), 2);                  // overlong
}

}  // namespace
}  // namespace evenkeel::report
