#include "pressure/text.hpp"

#include "pressure/support.hpp"

namespace evenkeel::pressure {
namespace {

TEST(PressureText, StallsAreReadAsTheKernelDocumentsThem) {
  // The format of Documentation/accounting/psi.rst.
  const auto stalls = parse_stalls(
      "some avg10=2.04 avg60=0.75 avg300=0.40 total=157656722\nfull avg10=1.04 avg60=0.5 avg300=0 total=9\n");
  ASSERT_TRUE(stalls) << why(stalls);
  EXPECT_EQ(stalls->some.avg10, 2.04);
  EXPECT_EQ(stalls->some.avg300, 0.40);
  EXPECT_EQ(stalls->some.total, std::chrono::microseconds(157656722));
  ASSERT_TRUE(stalls->full);
  EXPECT_EQ(stalls->full->avg60, 0.5);
  const auto old = parse_stalls("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->full);
}

TEST(PressureText, StallsThatCannotBeAreNone) {
  for (const char* text :
       {"", "some", "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "some avg10=nan avg60=0 avg300=0 total=0",
        "some avg10=101 avg60=0 avg300=0 total=0", "some avg10=-1 avg60=0 avg300=0 total=0",
        "some avg60=0 avg10=0 avg300=0 total=0", "some avg10=0 avg60=0 avg300=0 total=-1",
        "some avg10=0 avg60=0 avg300=0 total=18446744073709551615", "some avg10=0 avg60=0 avg300=0",
        "some avg10=0 avg60=0 avg300=0 total=0\nfull avg10=x avg60=0 avg300=0 total=0"}) {
    EXPECT_FALSE(parse_stalls(text)) << text;
  }
}

TEST(PressureText, SwapIsReadInKilobytes) {
  const auto swap = parse_swap("MemTotal: 1 kB\nSwapTotal:  4000 kB\nSwapFree:  1000 kB\n");
  ASSERT_TRUE(swap) << why(swap);
  EXPECT_EQ(swap->total, Bytes(4096000));
  EXPECT_EQ(swap->used_percent(), 75.0);
  const auto none = parse_swap("SwapTotal: 0 kB\nSwapFree: 0 kB\n");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->used_percent(), 0.0);
}

TEST(PressureText, MemoryThatCannotBeIsNoneAndSaysWhy) {
  EXPECT_EQ(why(parse_swap("SwapTotal: 5 kB\n")), "there is no SwapFree");
  EXPECT_EQ(why(parse_swap("SwapTotal: 5 kB\nSwapFree: 6 kB\n")), "SwapFree is over SwapTotal");
  EXPECT_EQ(why(parse_swap("SwapTotal: 5\nSwapFree: 5 kB\n")), "SwapTotal is not in kB");
  EXPECT_EQ(why(parse_swap("SwapTotal: -5 kB\nSwapFree: 5 kB\n")), "SwapTotal is \"-5\", which is no count");
  EXPECT_FALSE(parse_swap("SwapTotal: 9223372036854775807 kB\nSwapFree: 5 kB\n"));
  EXPECT_EQ(why(parse_memory("MemTotal: 5 kB\n")), "there is no MemAvailable");
  EXPECT_FALSE(parse_memory("MemTotal: 5 kB\nMemAvailable: 6 kB\n"));
}

TEST(PressureText, ProcessorTimesAreAddedWithoutThoseOfGuests) {
  const auto cpu = parse_cpu("cpu0 9 9 9 9 9\ncpu  1 2 3 4 5 6 7 8 100 200\n");
  ASSERT_TRUE(cpu) << why(cpu);
  EXPECT_EQ(cpu->iowait, 5U);
  EXPECT_EQ(cpu->total, 36U);
  EXPECT_TRUE(parse_cpu("cpu  1 2 3 4 5\n"));  // Linux 2.6 had no more
  for (const char* text : {"", "cpu", "cpu  1 2 3 4\n", "cpu  1 2 3 4 x\n", "cpu0 1 2 3 4 5 6 7\n",
                           "cpu  9223372036854775807 9223372036854775807 3 4 5\n"}) {
    EXPECT_FALSE(parse_cpu(text)) << text;
  }
}

TEST(PressureText, OwnCgroupIsThatOfVersion2) {
  EXPECT_EQ(parse_own_cgroup("4:memory:/a\n0::/system.slice/b.service\n").value_or(""), "/system.slice/b.service");
  EXPECT_EQ(why(parse_own_cgroup("4:memory:/a\n")), "the process is in no cgroup v2");
  EXPECT_FALSE(parse_own_cgroup("0::/../outside\n"));
  EXPECT_FALSE(parse_own_cgroup("0::relative\n"));
  EXPECT_TRUE(parse_own_cgroup("0::/a..b\n"));
}

TEST(PressureText, LimitsMayBeNone) {
  const auto none = parse_limit("max\n");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  EXPECT_EQ(parse_limit("4096\n").value_or(std::nullopt), Bytes(4096));
  EXPECT_FALSE(parse_limit("much"));
  EXPECT_FALSE(parse_bytes("max"));
}

}  // namespace
}  // namespace evenkeel::pressure
