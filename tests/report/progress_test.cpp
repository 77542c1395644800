#include "report/progress.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::report {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Written {
  std::vector<std::string> pieces;
  Progress::Sink sink() {
    return [this](std::string_view text) { pieces.emplace_back(text); };
  }
};

TEST(Progress, DrawsInPlaceOnATerminalAFewTimesASecond) {
  ManualClock clock;
  Written out;
  Progress progress(clock, out.sink(), true, "replay", 200);
  for (int i = 1; i <= 100; ++i) {
    clock.advance(milliseconds(10));
    progress.update(static_cast<std::uint64_t>(i), "3 open");
  }
  EXPECT_EQ(out.pieces.size(), 5U);  // at 10, 210, 410, 610, 810 ms
  EXPECT_EQ(out.pieces[4], "\rreplay [#########...............]  40 % 81/200, 1.19 s left, 810 ms, 3 open\x1b[K");
  progress.finish(200);
  progress.finish(200);
  progress.update(200);
  ASSERT_EQ(out.pieces.size(), 7U);
  EXPECT_EQ(out.pieces[5], "\rreplay [########################] 100 % 200/200, 1 s\x1b[K");
  EXPECT_EQ(out.pieces[6], "\n");
}

TEST(Progress, WritesALineNowAndThenElsewhere) {
  ManualClock clock;
  Written out;
  Progress progress(clock, out.sink(), false, "replay", 100);
  for (int i = 0; i < 25; ++i) {
    progress.update(static_cast<std::uint64_t>(i));
    clock.advance(seconds(1));
  }
  ASSERT_EQ(out.pieces.size(), 2U);
  EXPECT_EQ(out.pieces[0], "replay  10 % 10/100, 90 s left, 10 s\n");
  progress.finish(100);
  EXPECT_EQ(out.pieces[2], "replay 100 % 100/100, 25 s\n");
}

TEST(Progress, NeverSaysAllIsDoneBeforeItIs) {
  ManualClock clock;
  Written out;
  Progress progress(clock, out.sink(), true, "x", 1000);
  progress.update(999);
  EXPECT_NE(out.pieces.at(0).find(" 99 % 999/1000"), std::string::npos);
}

TEST(Progress, UnknownTotalHasNoBar) {
  ManualClock clock;
  Written out;
  Progress progress(clock, out.sink(), true, "serve", 0);
  clock.advance(seconds(2));
  progress.update(12);
  EXPECT_EQ(out.pieces.at(0), "\rserve 12, 2 s\x1b[K");
}

}  // namespace
}  // namespace evenkeel::report
