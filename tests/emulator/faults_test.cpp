#include "emulator/faults.hpp"

#include <gtest/gtest.h>

#include "emulator/embedding.hpp"

namespace evenkeel::emulator {
namespace {

using Verdict = FaultBox::Verdict;

TEST(Faults, AChangeLeavesOtherFaultsAndNullClearsOne) {
  auto faults = change_faults({}, R"({"refuse":true,"die_after_tokens":5})");
  ASSERT_TRUE(faults.has_value());
  faults = change_faults(*faults, R"({"status":503,"die_after_tokens":null})");
  ASSERT_TRUE(faults.has_value());
  EXPECT_TRUE(faults->refuse);
  EXPECT_EQ(faults->status, 503);
  EXPECT_FALSE(faults->die_after_tokens.has_value());
  EXPECT_EQ(change_faults(*faults, R"({"status":null,"refuse":null})").value(), Faults{});
}

TEST(Faults, WhatIsShownCanBeGivenBack) {
  const auto faults =
      change_faults({}, R"({"stall":true,"status":500,"status_probability":0.25,"status_count":3,"seed":9,
    "truncate_after_tokens":2,"health_status":503,"gauge_lag_ms":10,"metrics_delay_ms":20,"drop_probability":0.5,"error_event_first":true,
    "ignore_rank_header":true})");
  ASSERT_TRUE(faults.has_value());
  EXPECT_EQ(change_faults({}, faults_json(*faults)).value(), *faults);
}

TEST(Faults, WrongOnesAreRefusedInWords) {
  const auto complaint = [](std::string_view json) {
    const auto changed = change_faults({}, json);
    EXPECT_FALSE(changed.has_value()) << json;
    return changed ? std::string() : changed.error().message;
  };
  EXPECT_EQ(complaint(R"({"stal":true})"), "there is no fault \"stal\", did you mean stall?");
  EXPECT_NE(complaint(R"({"status":200})").find("from 400 to 599"), std::string::npos);
  EXPECT_NE(complaint(R"({"health_status":404})").find("health_status"), std::string::npos);
  EXPECT_NE(complaint(R"({"drop_probability":2})").find("drop_probability"), std::string::npos);
  EXPECT_NE(complaint(R"({"stall":1})").find("true or false"), std::string::npos);
  EXPECT_NE(complaint("nonsense").find("JSON"), std::string::npos);
}

TEST(FaultBox, FailsSoManyRequestsAndNoMore) {
  FaultBox box;
  box.set(*change_faults({}, R"({"status":503,"status_count":2})"));
  EXPECT_EQ(box.draw().verdict, Verdict::fail);
  EXPECT_EQ(box.draw().status, 503);
  EXPECT_EQ(box.draw().verdict, Verdict::serve);
}

TEST(FaultBox, DrawsItsShareAndRepeatsUnderItsSeed) {
  const auto drops = [](std::string_view json) {
    FaultBox box;
    box.set(*change_faults({}, json));
    std::vector<bool> dropped;
    for (int i = 0; i < 4000; ++i) dropped.push_back(box.draw().verdict == Verdict::drop);
    return dropped;
  };
  const auto first = drops(R"({"drop_probability":0.25,"seed":7})");
  const auto share = std::ranges::count(first, true);
  EXPECT_NEAR(static_cast<double>(share), 1000, 137);  // five standard deviations
  EXPECT_EQ(first, drops(R"({"drop_probability":0.25,"seed":7})"));
  EXPECT_NE(first, drops(R"({"drop_probability":0.25,"seed":8})"));
}

TEST(Base64, AsInTheTestVectorsOfItsStandard) {  // RFC 4648, section 10
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Embedding, IsAUnitVectorThatTheInputDecides) {
  const auto one = embed({.tokens = 1, .hash = 5, .ids = {}}, 64, 1);
  double square = 0;
  for (const float each : one) square += static_cast<double>(each) * static_cast<double>(each);
  EXPECT_NEAR(square, 1, 1e-6);
  EXPECT_EQ(one, embed({.tokens = 1, .hash = 5, .ids = {}}, 64, 1));
  EXPECT_NE(one, embed({.tokens = 1, .hash = 6, .ids = {}}, 64, 1));
}

}  // namespace
}  // namespace evenkeel::emulator
