#include "simulation/token_law.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace evenkeel::simulation {
namespace {

TEST(TokenLaw, GeometricHasItsMeanAndIsMemoryless) {
  const auto law = TokenLaw::parse("outputs", "geometric:0.02", 1'000'000);
  ASSERT_TRUE(law.has_value());
  Random random(3);
  constexpr int draws = 400'000;
  double sum = 0;
  int over_30 = 0;
  int over_80 = 0;
  int ones = 0;
  for (int i = 0; i < draws; ++i) {
    const std::int64_t drawn = law->draw(random);
    ASSERT_GE(drawn, 1);
    sum += static_cast<double>(drawn);
    over_30 += drawn > 30 ? 1 : 0;
    over_80 += drawn > 80 ? 1 : 0;
    ones += drawn == 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / draws, 50, 0.4);
  EXPECT_NEAR(static_cast<double>(ones) / draws, 0.02, 0.001);
  EXPECT_NEAR(static_cast<double>(over_80) / over_30, std::pow(0.98, 50), 0.006);
  EXPECT_NEAR(law->mean(), 50, 0.6);
}

TEST(TokenLaw, NothingIsLongerThanTheCap) {
  for (const char* text : {"lognormal:1000:2", "geometric:0.0001", "uniform:1:2000", "fixed:7"}) {
    const auto law = TokenLaw::parse("outputs", text, 2000);
    ASSERT_TRUE(law.has_value()) << text;
    Random random(1);
    std::int64_t longest = 0;
    for (int i = 0; i < 20'000; ++i) longest = std::max(longest, law->draw(random));
    EXPECT_LE(longest, 2000) << text;
    if (text[0] == 'f') continue;
    EXPECT_GE(longest, 1990) << text;
  }
}

TEST(TokenLaw, ErrorsNameTheFieldAndWhatIsAllowed) {
  const auto error_of = [](const char* text) {
    const auto law = TokenLaw::parse("outputs", text, 16'384);
    return law ? std::string() : law.error().message;
  };
  for (const char* wrong : {"fixed:16385", "uniform:1:20000", "lognormal:1185:0.9:16385", "lognormal:20000:0.5"}) {
    EXPECT_NE(error_of(wrong).find("outputs: "), std::string::npos) << wrong;
    EXPECT_NE(error_of(wrong).find("1 to 16384"), std::string::npos) << wrong;
  }
  for (const char* wrong : {"geometric:0", "geometric:1.1", "geometric:x", "geometric", "geometric:0.1:3"}) {
    EXPECT_NE(error_of(wrong).find("geometric:P"), std::string::npos) << wrong;
  }
  EXPECT_NE(error_of("normal:3:4").find("allowed: fixed:N"), std::string::npos);
  EXPECT_NE(error_of("lognormal:-3:4").find("outputs: "), std::string::npos);
  EXPECT_EQ(error_of("lognormal:1185:0.9:16384"), "");
}

}  // namespace
}  // namespace evenkeel::simulation
