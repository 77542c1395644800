#include "base/scan.hpp"

#include <string>

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

TEST(FindByte, FindsTheFirstAtEveryDistanceAndInEveryLength) {
  for (std::size_t size = 0; size < 70; ++size) {
    const std::string none(size, 'a');
    EXPECT_EQ(find_byte(none.data(), none.data() + size, '"'), none.data() + size);
    for (std::size_t at = 0; at < size; ++at) {
      std::string text = none;
      text[at] = text.back() = '"';
      EXPECT_EQ(find_byte(text.data(), text.data() + size, '"'), text.data() + at) << size;
    }
  }
}

TEST(FindNearQuote, NeverPassesOverAQuoteOrTakesAnEscapedOne) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t quote = 0; quote < size; ++quote) {
      std::string text(size, 'a');
      text[quote] = '"';
      const char* const plain = find_near_quote(text.data(), text.data() + size);
      EXPECT_TRUE(plain == nullptr || plain == text.data() + quote);
      for (std::size_t escape = 0; escape < quote; ++escape) {
        std::string escaped = text;
        escaped[escape] = '\\';
        EXPECT_EQ(find_near_quote(escaped.data(), escaped.data() + size), nullptr) << escaped;
      }
      if (quote + 1 == size) continue;
      text[size - 1] = '\\';  // behind it: of no matter
      EXPECT_EQ(find_near_quote(text.data(), text.data() + size), plain) << text;
    }
  }
}

}  // namespace
}  // namespace evenkeel
