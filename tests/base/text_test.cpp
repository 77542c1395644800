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

TEST(Text, AMessageIsBegunWithTheFlagOfItsField) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> flags = {
      {{"kv_capacity", "--kv-tokens"}, {"option rate", "--rate"}}};
  EXPECT_EQ(in_flags("kv_capacity is 5: kv_capacity", flags), "--kv-tokens is 5: kv_capacity");
  EXPECT_EQ(in_flags("option rate has no effect", flags), "--rate has no effect");
  for (const auto* same : {"", "kv_capacity", "kv_capacity_ is 5", "the kv_capacity is 5", "option rates"}) {
    EXPECT_EQ(in_flags(same, flags), same);
  }
}

TEST(Text, JsonStringsEscapeControlsAndReplaceWhatIsNotUtf8) {
  std::string out;
  append_json_string(out, "a\"\\\n\x01\xC3\xA9\xC3(\xED\xA0\x80");
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\u0001\xC3\xA9\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Text, UtcHasMilliseconds) { EXPECT_EQ(format_utc_millis(1700158546680), "2023-11-16T18:15:46.680Z"); }

}  // namespace
}  // namespace evenkeel
