// The file of a result: written, read, damaged.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "calibrate/calibration.hpp"
#include "calibrate/show.hpp"

namespace evenkeel::calibrate {
namespace {

Calibration thor() {
  Calibration calibration;
  calibration.url = "http://127.0.0.1:8000";
  calibration.measured = {"qwen", 262144, "vllm", "0.11.0"};
  calibration.measured_at_ms = 1'764'535'000'123;
  calibration.knee = {2, KneeReason::plateau};
  calibration.options.ttft_bound_s = 5;
  calibration.samples = {
      {1, 18.18, 0.05, 4, 512, 28.2}, {2, 50.71, 0.04, 8, 1024, 20.2}, {4, 50.71, 4.4, 16, 2048, 40.4}};
  calibration.notes = {"a \"note\""};
  return calibration;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const auto place = text.find(what);
  EXPECT_NE(place, std::string::npos) << what;
  return place == std::string::npos ? text : text.replace(place, what.size(), by);
}

TEST(CalibrationFile, ReadsBackWhatWasWritten) {
  const Calibration written = thor();
  const auto read = read_calibration(to_json(written));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->url, written.url);
  EXPECT_EQ(read->measured, written.measured);
  EXPECT_EQ(read->measured_at_ms, written.measured_at_ms);
  EXPECT_EQ(read->knee, written.knee);
  EXPECT_EQ(read->options.schedule, written.options.schedule);
  EXPECT_EQ(read->notes, written.notes);
  const auto points = read->rate_points();
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[1].level, 2);
  EXPECT_EQ(points[1].rate, 50.71);
}

TEST(CalibrationFile, WhatTheEngineDoesNotTellMayBeNull) {
  Calibration written = thor();
  written.measured.max_model_len.reset();
  written.measured.version.clear();
  const auto read = read_calibration(to_json(written));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->measured, written.measured);
}

TEST(CalibrationFile, DamageIsNamedByItsPlace) {
  const std::string good = to_json(thor());
  const std::pair<std::string, const char*> damaged[] = {
      {"", "line 1, column 1"},
      {"[]", "allowed: an object"},
      {"{\n\"version\": 1,\n nonsense }", "line 3, column 2"},
      {good.substr(0, good.size() / 2), "line 1, column"},
      {good + "{}", "line 2, column 1"},
      {replaced(good, "\"version\":1", "\"version\":2"), "version is 2"},
      {replaced(good, "\"slots\":2", "\"slots\":-2"), "slots is -2"},
      {replaced(good, "\"slots\":2", "\"slots\":3"), "slots is 3"},
      {replaced(good, "\"slots\":2", "\"slots\":2.5"), "slots is 2.5"},
      {replaced(good, "\"slots\":2", "\"slot\":2"), "slot is no key here, did you mean slots?"},
      {replaced(good, "\"usable\":true", "\"usable\":false"), "usable is false"},
      {replaced(good, "plateau", "top_of_ramp"), "reason is \"top_of_ramp\""},
      {replaced(good, "\"runtime\":\"vllm\"", "\"runtime\":7"), "fingerprint.runtime is 7"},
      {replaced(good, "\"served_id\":\"qwen\"", "\"served_id\":\"\""), "fingerprint.served_id is \"\""},
      {replaced(good, "\"max_model_len\":262144", "\"max_model_len\":0"), "fingerprint.max_model_len is 0"},
      {replaced(good, "\"level\":2", "\"level\":1"), "levels[1].level is 1"},
      {replaced(good, "\"tokens_per_s\":1.818E1", "\"tokens_per_s\":-1"), "levels[0].tokens_per_s is -1"},
      {replaced(good, "\"tokens_per_s\":1.818E1", "\"tokens_per_s\":\"fast\""), "levels[0].tokens_per_s is \"fast\""},
      {replaced(good, "measured_at\":\"2025", "measured_at\":\"last year"), "measured_at is "},
      {replaced(good, "\"max_tokens\":128", "\"max_tokens\":0"), "max_tokens is 0"},
  };
  for (const auto& [text, words] : damaged) {
    const auto read = read_calibration(text);
    ASSERT_FALSE(read) << words;
    EXPECT_NE(read.error().message.find(words), std::string::npos) << words << " is not in: " << read.error().message;
  }
}

TEST(CalibrationFile, DifferencesAreOfWhatIsKnownOnBothSides) {
  const Measured then = thor().measured;
  EXPECT_EQ(difference(then, then), "");
  EXPECT_EQ(difference(then, {"qwen", std::nullopt, "", ""}), "");
  EXPECT_EQ(difference(then, {"llama", 262144, "vllm", "0.11.0"}), "served_id was \"qwen\" and is \"llama\"");
  EXPECT_EQ(difference(then, {"qwen", 8192, "vllm", "0.11.0"}), "max_model_len was 262144 and is 8192");
  EXPECT_EQ(difference(then, {"qwen", 262144, "sglang", "0.11.0"}), "runtime was \"vllm\" and is \"sglang\"");
  EXPECT_EQ(difference(then, {"qwen", 262144, "vllm", "0.12.0"}), "version was \"0.11.0\" and is \"0.12.0\"");
}

TEST(CalibrationShown, SaysTheKneeAndWhy) {
  EXPECT_NE(to_text(thor()).find("2 slots at 50.71 tok/s: more gain too little (plateau)"), std::string::npos);
  EXPECT_NE(to_svg(thor()).find("knee: 2 slots"), std::string::npos);
  Calibration top = thor();
  top.knee = {4, KneeReason::top_of_ramp};
  EXPECT_NE(to_text(top).find("not plateaued: the highest level measured, 4,"), std::string::npos);
  EXPECT_EQ(to_svg(top).find("knee"), std::string::npos);
  top.knee = {0, KneeReason::ttft_bound};
  EXPECT_NE(to_text(top).find("no level is within the bound of 5 s"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::calibrate
