#include "config/values.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::config {
namespace {

using namespace std::chrono_literals;

TEST(Durations, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("0.3"), 300ms);
  EXPECT_EQ(parse_duration("2m"), 120s);
  EXPECT_EQ(parse_duration(" 1 h "), 3600s);
  EXPECT_EQ(parse_duration("7us"), 7us);
  EXPECT_EQ(parse_duration("9223372036854775807ns"), Duration::max());
  EXPECT_EQ(parse_duration("0"), 0s);
}

TEST(Durations, RefuseTheRest) {
  for (const auto* text : {"", "s", "-1s", "1 parsec", "1S", "1.2.3s", "1e3s", "0.5ns", "9223372037s",
                           "99999999999999999999s", "inf", "nan", "1s2", "+1s", "."}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Durations, ReadBackWhatIsWritten) {
  for (const Duration duration :
       std::vector<Duration>{0s, 1ns, 999ns, 1us + 1ns, 1500ms, 90s, 24h * 365, Duration::max()}) {
    EXPECT_EQ(parse_duration(format_duration(duration)), duration) << format_duration(duration);
  }
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(25ms), "25ms");
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(24h), "24h");
  EXPECT_EQ(format_duration(90min), "5400s");
}

TEST(Sizes, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_bytes("64MiB"), Bytes(67108864));
  EXPECT_EQ(parse_bytes("10MB"), Bytes(10000000));
  EXPECT_EQ(parse_bytes("1.5KiB"), Bytes(1536));
  EXPECT_EQ(parse_bytes("65536"), Bytes(65536));
  EXPECT_EQ(parse_bytes("3 kB"), Bytes(3000));
  for (const auto* text : {"", "MiB", "-1", "1.5", "1.3KiB", "1mib", "1K", "9223372036854775808", "9000000000GiB"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(Sizes, ReadBackWhatIsWritten) {
  for (const long long size : {0LL, 1LL, 1023LL, 1024LL, 65537LL, 1LL << 20, 3LL << 30, 9223372036854775807LL}) {
    EXPECT_EQ(parse_bytes(format_bytes(Bytes(size))), Bytes(size)) << format_bytes(Bytes(size));
  }
  EXPECT_EQ(format_bytes(Bytes(64LL << 20)), "64MiB");
}

}  // namespace
}  // namespace evenkeel::config
