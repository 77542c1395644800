#include "base/text.hpp"

#include <array>

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

TEST(Text, NearestNameFindsTheTypoAndLeavesStrangersAlone) {
  const std::array<std::string_view, 3> names = {"least_wait", "least_tokens", "random"};
  EXPECT_EQ(nearest_name("least-wait", names), "least_wait");
  EXPECT_EQ(nearest_name("randon", names), "random");
  EXPECT_EQ(nearest_name("kubernetes", names), "");
}

TEST(Text, NumbersAreTakenWholeOrNotAtAll) {
  EXPECT_EQ(parse_unsigned("42"), 42U);
  for (const auto* bad : {"", " 42", "42 ", "-1", "4x", "18446744073709551616"}) {
    EXPECT_FALSE(parse_unsigned(bad).has_value()) << bad;
  }
  EXPECT_DOUBLE_EQ(parse_double("1.5e3").value_or(0), 1500);
  for (const auto* bad : {"", "nan", "inf", "1.5s"}) EXPECT_FALSE(parse_double(bad).has_value()) << bad;
}

TEST(Text, JsonStringsEscapeControlsAndReplaceWhatIsNotUtf8) {
  std::string out;
  append_json_string(out, "a\"\\\n\x01\xC3\xA9\xC3(\xED\xA0\x80");
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\u0001\xC3\xA9\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Text, UtcHasMilliseconds) { EXPECT_EQ(format_utc_millis(1700158546680), "2023-11-16T18:15:46.680Z"); }

}  // namespace
}  // namespace evenkeel
