#include "gateway/pressure_watch.hpp"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "gateway/pressure_page.hpp"

namespace evenkeel::gateway {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

Time at(double seconds) { return Time() + from_seconds(seconds); }

fs::path recorded(const std::string& tree) { return fs::path(EVENKEEL_SOURCE_DIR "/tests/data/pressure") / tree; }

/// A box that shows one recorded box after the other.
class PressureWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    settings.mode = "shed";
    settings.root = (fs::path(testing::TempDir()) / ("evenkeel-" + std::to_string(::getpid()))).string();
    become("healthy");
  }
  void TearDown() override { fs::remove_all(settings.root); }
  void become(const std::string& tree) {
    fs::remove_all(settings.root);
    fs::copy(recorded(tree), settings.root, fs::copy_options::recursive);
  }
  PressureWatch watch() {
    return {settings, [this](bool sheds) { told.push_back(sheds); }};
  }
  static json::object page(const PressureWatch& watch, Time now) {
    return json::parse(pressure_json(watch.look(), watch.settings(), watch.worst_cgroups(), now)).as_object();
  }

  config::PressureSettings settings;
  std::vector<bool> told;
};

TEST_F(PressureWatchTest, ItLooksOnceInAnIntervalAndTellsWhatHasChanged) {
  PressureWatch box = watch();
  box.tick(at(0));
  box.tick(at(1.999));
  EXPECT_EQ(box.look().looks, 1U);
  EXPECT_TRUE(told.empty());
  become("swap-90");
  box.tick(at(2));
  EXPECT_EQ(told, (std::vector{true}));
  box.tick(at(4));
  EXPECT_EQ(told, (std::vector{true}));
  become("healthy");
  for (double s = 6; s < 14; s += 2) box.tick(at(s));
  EXPECT_EQ(told, (std::vector{true}));
  box.tick(at(14));
  EXPECT_EQ(told, (std::vector{true, false}));
  EXPECT_EQ(box.look().turns, 1U);
}

TEST_F(PressureWatchTest, ShowingTellsNobody) {
  settings.mode = "show";
  become("swap-90");
  PressureWatch box = watch();
  box.tick(at(0));
  EXPECT_TRUE(told.empty());
  EXPECT_FALSE(box.look().shedding);
  EXPECT_TRUE(box.look().verdict.shed);
  const auto shown = page(box, at(1));
  EXPECT_EQ(shown.at("acts").as_string(), "show");
  EXPECT_FALSE(shown.at("sheds").as_bool());
  EXPECT_TRUE(shown.at("would_shed").as_bool());
}

TEST_F(PressureWatchTest, FalsePressureIsBusyToOthersAndShedsNothing) {
  become("false-pressure");
  PressureWatch box = watch();
  box.tick(at(0));
  fs::copy(recorded("false-pressure-5s-later"), settings.root,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  box.tick(at(5));
  EXPECT_TRUE(told.empty());
  const auto shown = page(box, at(6));
  EXPECT_EQ(shown.at("mode").as_string(), "busy");
  EXPECT_FALSE(shown.at("would_shed").as_bool());
  EXPECT_EQ(shown.at("swap_used_percent").as_double(), 18.9);
  EXPECT_EQ(shown.at("iowait_percent").as_double(), 71.5);
  EXPECT_EQ(shown.at("age_ms").as_int64(), 1000);
  const auto& worst = shown.at("cgroups").at("worst").as_array();
  ASSERT_EQ(worst.size(), 5U);
  EXPECT_EQ(worst[4].at("io_full_avg10").as_double(), 96.66);
  EXPECT_TRUE(worst[4].at("path").as_string().ends_with("/app-terminal.scope"));
}

TEST_F(PressureWatchTest, WhatIsNotKnownIsNullWithItsReasonAndNeverZero) {
  become("damaged");
  PressureWatch box = watch();
  box.tick(at(0));
  const auto shown = page(box, at(0));
  EXPECT_EQ(shown.at("mode").as_string(), "unknown");
  for (const char* key : {"swap_used_percent", "memory_stall_percent", "swap_ins_per_s", "iowait_percent", "memory",
                          "swap", "own_cgroup", "cgroups"}) {
    EXPECT_TRUE(shown.at(key).is_null()) << key;
  }
  EXPECT_TRUE(shown.at("stalls").at("io").is_null());
  std::string reasons = json::serialize(shown.at("not_known"));
  for (const char* file : {"/proc/meminfo", "/proc/stat", "/proc/vmstat", "/proc/pressure/memory", "/proc/pressure/io",
                           "/proc/pressure/cpu", "/proc/self/cgroup"}) {
    EXPECT_NE(reasons.find(file), std::string::npos) << file;
  }
  std::string metrics;
  append_pressure(metrics, box.look());
  EXPECT_NE(metrics.find("evenkeel_pressure_swap_used_share -1\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("evenkeel_pressure_stall_share{resource=\"io\",tasks=\"all\"} -1\n"), std::string::npos);
}

TEST_F(PressureWatchTest, MetricsAreSharesOfOne) {
  become("swap-90");
  PressureWatch box = watch();
  box.tick(at(0));
  std::string metrics;
  append_pressure(metrics, box.look());
  for (const char* line : {"evenkeel_pressure_shedding 1\n", "evenkeel_pressure_shed_begun_total 1\n",
                           "evenkeel_pressure_stall_share{resource=\"memory\",tasks=\"some\"} 0.3821\n",
                           "evenkeel_pressure_stall_share{resource=\"memory\",tasks=\"all\"} 0.2264\n"}) {
    EXPECT_NE(metrics.find(line), std::string::npos) << line << metrics;
  }
}

TEST_F(PressureWatchTest, TheOwnCgroupIsShownWithItsLimits) {
  PressureWatch box = watch();
  box.tick(at(0));
  const auto own = page(box, at(0)).at("own_cgroup");
  EXPECT_EQ(own.at("path").as_string(), "/system.slice/evenkeel.service");
  EXPECT_EQ(own.at("limit_bytes").as_int64(), 1 << 30);
  EXPECT_EQ(own.at("swap_limit_bytes").as_string(), "none");
  EXPECT_EQ(own.at("stalls").at("memory").at("some").at("avg10").to_number<double>(), 0);
}

}  // namespace
}  // namespace evenkeel::gateway
