#include "config/plan_file.hpp"

#include <string>

#include <gtest/gtest.h>

namespace evenkeel::config {
namespace {

const std::string good = R"(level = "32/33"
scale_time_s = 60
staleness_s = 0.3
correlated_share = 0.2
correlation = 0.05
sequence_gb = 0.4
profile = [{ from_s = 0, factor = 1 }, { from_s = 30, factor = 4.5 }]

[[models]]
name = "big"
cap_s = 1000
durations = [{ law = "pareto", minimum_s = 100, tail_index = 1.5, weight = 2 }, { law = "exponential", mean_s = 50 }]
[models.footprint]
slots = { fixed = 1 }
memory_gb = { fixed = 0.3, growth_per_s = 0.005 }

[[models]]
name = "small"
durations = [{ law = "exponential", mean_s = 20 }]
[models.footprint]
slots = { fixed = 1 }
memory_gb = { fixed = 0.1 }

[[groups]]
name = "a"
nodes = 12
capacity = { memory_gb = 32, slots = 64 }
per_hour = { big = 36, small = 360 }

[[groups]]
name = "b"
nodes = 3
capacity = { memory_gb = 20, slots = 64 }
per_hour = { small = 720 }
)";

std::string fault_of(std::string text) {
  const auto plan = read_plan(text, "fleet.toml");
  return plan ? "fine" : plan.error().message;
}

/// The good text with one place changed.
std::string fault_with(const std::string& from, const std::string& to) {
  std::string text = good;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return fault_of(text.replace(at, from.size(), to));
}

TEST(PlanFile, EveryKeyFindsItsPlace) {
  const auto plan = read_plan(good, "fleet.toml");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_NEAR(plan->level, 32.0 / 33, 1e-12);
  EXPECT_EQ(plan->scale_time_s, 60);
  EXPECT_EQ(plan->staleness_s, 0.3);
  EXPECT_EQ(plan->correlated_share, 0.2);
  EXPECT_EQ(plan->correlation, 0.05);
  EXPECT_EQ(plan->sequence_gb, 0.4);
  ASSERT_EQ(plan->profile.size(), 2U);
  EXPECT_EQ(plan->profile[1].factor, 4.5);
  EXPECT_EQ(plan->resources, (std::vector<std::string>{"memory_gb", "slots"}));
  ASSERT_EQ(plan->models.size(), 2U);
  EXPECT_EQ(plan->models[0].duration.cap_s, 1000);
  EXPECT_EQ(plan->models[0].duration.parts[0].weight, 2);
  EXPECT_EQ(plan->models[0].duration.parts[1].mean_s, 50);
  EXPECT_EQ(plan->models[0].footprints[0].growth_per_s, 0.005);
  EXPECT_EQ(plan->models[0].footprints[1].fixed, 1);
  ASSERT_EQ(plan->groups.size(), 2U);
  EXPECT_EQ(plan->groups[0].nodes, 12);
  EXPECT_EQ(plan->groups[0].capacity, (std::vector<double>{32, 64}));
  EXPECT_EQ(plan->groups[0].rate_per_node_s, (std::vector<double>{0.01, 0.1}));
  EXPECT_EQ(plan->groups[1].rate_per_node_s, (std::vector<double>{0, 0.2}));
}

TEST(PlanFile, LevelIsGivenInOneOfThreeWays) {
  EXPECT_EQ(fault_with("level = \"32/33\"", "level = 0.9"), "fine");
  EXPECT_EQ(fault_with("level = \"32/33\"", "cost_ratio = \"9:1\""), "fine");
  EXPECT_EQ(fault_with("level = \"32/33\"", "breaches_per_month = 3"), "fine");
  EXPECT_EQ(fault_with("level = \"32/33\"", ""), "fine");
  EXPECT_NE(fault_with("level = \"32/33\"", "level = 0.9\ncost_ratio = \"9:1\"").find("twice"), std::string::npos);
  EXPECT_EQ(fault_with("level = \"32/33\"", "level = 1.5"),
            "fleet.toml:1:9: \"1.5\"; allowed: numbers over 0 and under 1, also as a fraction (32/33)");
}

TEST(PlanFile, UnknownKeysAreRefusedWithPlaceAndNearestName) {
  EXPECT_EQ(fault_with("staleness_s", "stalenes_s"),
            "fleet.toml:3:1: \"stalenes_s\" is not known, did you mean \"staleness_s\"?");
  EXPECT_NE(fault_with("tail_index", "tail_indx").find("did you mean \"tail_index\"?"), std::string::npos);
  EXPECT_NE(fault_with("growth_per_s", "growth").find("in memory_gb"), std::string::npos);
  EXPECT_NE(fault_with("small = 360", "smal = 360").find("did you mean \"small\"?"), std::string::npos);
  EXPECT_NE(fault_with("slots = 64", "slot = 64").find("did you mean \"slots\"?"), std::string::npos);
  EXPECT_NE(fault_with("nodes = 12", "workers = 12").find("(allowed: name, nodes, capacity, per_hour)"),
            std::string::npos);
}

TEST(PlanFile, WhatIsMissingOrOfAnotherTypeIsNamed) {
  EXPECT_EQ(fault_of(""), "fleet.toml:1:1: [[models]] is missing: at least one is needed");
  EXPECT_NE(fault_with("nodes = 12", "").find("a group needs nodes"), std::string::npos);
  EXPECT_NE(fault_with("nodes = 12", "nodes = 1.5").find("whole number"), std::string::npos);
  EXPECT_NE(fault_with("memory_gb = { fixed = 0.3, growth_per_s = 0.005 }", "").find("needs memory_gb"),
            std::string::npos);
  EXPECT_NE(fault_with("cap_s = 1000", "cap_s = \"long\"").find("cap_s must be a number"), std::string::npos);
  EXPECT_NE(fault_with("\"exponential\", mean_s = 50", "\"normal\"").find("allowed: pareto, exponential"),
            std::string::npos);
  EXPECT_NE(fault_with("name = \"small\"", "name = \"big\"").find("there twice"), std::string::npos);
  EXPECT_NE(fault_of("level = ").find("fleet.toml:1:"), std::string::npos);
  EXPECT_NE(fault_of(good + "models = 3").find("fleet.toml:"), std::string::npos);
}

TEST(PlanFile, APlanThatCannotBeIsRefusedWithTheReason) {
  EXPECT_NE(fault_with("cap_s = 1000", "").find("cap"), std::string::npos);  // tail index 1.5, and it grows
  EXPECT_NE(fault_with("big = 36", "big = -1").find("rate of \"big\""), std::string::npos);
  EXPECT_NE(fault_with("memory_gb = 32", "memory_gb = 0.5").find("is under the"), std::string::npos);
  EXPECT_NE(fault_with("scale_time_s = 60", "scale_time_s = nan").find("scale time"), std::string::npos);
  EXPECT_NE(fault_with("nodes = 3", "nodes = 0").find("nodes is 0"), std::string::npos);
}

TEST(PlanFile, AFaultOfThePlanAsAWholeStandsAtItsPlace) {
  EXPECT_TRUE(fault_with("staleness_s = 0.3", "staleness_s = -1").starts_with("fleet.toml:3:15: staleness")) << "key";
  EXPECT_TRUE(fault_with("factor = 4.5", "factor = -1").starts_with("fleet.toml:7:11: a factor of the profile"));
  EXPECT_TRUE(fault_with("nodes = 3", "nodes = 0").starts_with("fleet.toml:30:1: group \"b\": nodes is 0"));
  EXPECT_TRUE(fault_with("cap_s = 1000", "cap_s = -1").starts_with("fleet.toml:9:1: model \"big\": "));
}

TEST(PlanFile, TwoGroupsOfOneNameAreRefused) {
  EXPECT_EQ(fault_with("name = \"b\"", "name = \"a\""), "fleet.toml:30:1: the group \"a\" is there twice");
}

}  // namespace
}  // namespace evenkeel::config
