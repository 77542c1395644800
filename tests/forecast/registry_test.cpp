#include "forecast/registry.hpp"

#include <gtest/gtest.h>

namespace evenkeel::forecast {
namespace {

TEST(MakeForecast, MakesEachByItsName) {
  for (const std::string_view name : {"survival", "exact_match"}) {
    const auto forecast = make_forecast(name);
    ASSERT_TRUE(forecast) << forecast.error().message;
    EXPECT_EQ((*forecast)->name(), name);
  }
}

TEST(MakeForecast, SaysWhatIsAllowed) {
  const auto wrong = make_forecast("survivel");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("did you mean survival?"), std::string::npos) << wrong.error().message;
  EXPECT_NE(wrong.error().message.find("exact_match"), std::string::npos);
  EXPECT_FALSE(make_forecast(""));
  EXPECT_FALSE(make_forecast("survival "));
}

}  // namespace
}  // namespace evenkeel::forecast
