#include "engines/prometheus.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::engines {
namespace {

std::vector<Sample> samples_of(std::string_view page) {
  std::vector<Sample> all;
  while (const auto sample = next_sample(page)) all.push_back(*sample);
  return all;
}

TEST(Prometheus, ReadsNamesLabelsAndValues) {
  const auto all = samples_of(
      "# HELP a help\n# TYPE a gauge\n\n"
      "a 1\n"
      "  b:c_d2 {x=\"1\",} 2.5e3 1395066363000\n"
      "e{x=\"}\",y=\"q\\\"}\\\\\"}\t7\r\n"
      "last{} 0");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].value_text, "1");
  EXPECT_EQ(all[1].name, "b:c_d2");
  EXPECT_EQ(amount(all[1].value_text), 2500.0);
  EXPECT_EQ(all[2].labels, "x=\"}\",y=\"q\\\"}\\\\\"");
  EXPECT_EQ(amount(all[2].value_text), 7.0);
  EXPECT_EQ(all[3].name, "last");
  EXPECT_EQ(all[3].value_text, "0");
}

TEST(Prometheus, PassesOverLinesThatAreNoSamples) {
  EXPECT_TRUE(samples_of("").empty());
  EXPECT_TRUE(samples_of("\n\n#\n1a 2\n{x=\"1\"} 3\nnovalue\nopen{x=\"1 4\nopen{x=\"1\" 5\n<html>\n").empty());
  EXPECT_EQ(samples_of("bad{x=\"\n good 1\n").size(), 1U);
}

TEST(Prometheus, FindsLabelsWithTheirEscapesUndone) {
  const std::string_view labels = R"(engine="12", model_name = "a\"b\\c\nd",empty="",)";
  EXPECT_EQ(label(labels, "engine"), "12");
  EXPECT_EQ(label(labels, "model_name"), "a\"b\\c\nd");
  EXPECT_EQ(label(labels, "empty"), "");
  EXPECT_EQ(label(labels, "model"), std::nullopt);
  EXPECT_EQ(label("engine", "engine"), std::nullopt);
  EXPECT_EQ(label("engine=\"0", "engine"), std::nullopt);
  EXPECT_EQ(label(R"(x="engine=\"7\"",engine="8")", "engine"), "8");
}

TEST(Prometheus, RefusesWhatIsNoAmount) {
  for (const auto* text :
       {"NaN", "nan", "+Inf", "-Inf", "inf", "-1", "-0.5", "", "1x", "None", "1e300", "9007199254740994"}) {
    EXPECT_EQ(amount(text), std::nullopt) << text;
  }
  EXPECT_EQ(amount("0"), 0.0);
  EXPECT_EQ(amount("+3"), 3.0);
  EXPECT_EQ(amount("1e+06"), 1e6);
}

TEST(Prometheus, ASumWithAMissingPartIsMissing) {
  Sum sum;
  EXPECT_EQ(sum.get(), std::nullopt);
  sum.add(2);
  sum.add(3);
  EXPECT_EQ(sum.get(), 5.0);
  sum.add(std::nullopt);
  EXPECT_EQ(sum.get(), std::nullopt);
}

}  // namespace
}  // namespace evenkeel::engines
