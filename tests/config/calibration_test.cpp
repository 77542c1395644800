#include <fstream>

#include "config/support.hpp"

namespace evenkeel::config {
namespace {

std::string text_of(const std::string& url) {
  calibrate::Calibration measured;
  measured.url = url;
  measured.measured = {"m", 4096, "vllm", "0.11.0"};
  measured.measured_at_ms = 1'764'535'000'000;
  measured.knee = {2, calibrate::KneeReason::plateau};
  measured.options.ttft_bound_s = 5;
  measured.samples = {{1, 18.18, 0.05, 4, 512, 28.2}, {2, 50.71, 0.04, 8, 1024, 20.2}};
  return calibrate::to_json(measured);
}

std::string file_of(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "evenkeel_calibration_" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(CalibrationOfAWorker, IsReadAndKept) {
  const std::string path = file_of("a", text_of("http://measured-from-elsewhere:1"));
  const auto settings = of_text("[[workers]]\nurl = \"http://a:1\"\ncalibration = \"" + path + "\"\n");
  ASSERT_TRUE(settings) << why(settings);
  const auto read = calibration(settings->workers[0]);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->knee.level, 2);
  EXPECT_EQ(why(of_text(to_toml(*settings))), "");
  EXPECT_FALSE(calibration(WorkerSetting{.url = "http://a:1"})->has_value());
}

TEST(CalibrationOfAWorker, IsRefusedByItsPlace) {
  const std::string worker = "[[workers]]\nurl = \"http://a:1\"\nname = \"w\"\n";
  const std::string good = file_of("good", text_of("http://a:1"));
  const std::string cut = file_of("cut", "{\n  \"version\": 1,\n  \"slots\"");
  const std::string other = file_of("other", R"({"version":2})");
  const auto with = [&](const std::string& path, const std::string& more = "") {
    return of_text(worker + "calibration = \"" + path + "\"\n" + more);
  };
  EXPECT_EQ(why(with(good)), "");
  EXPECT_SAYS(with(cut), "worker \"w\": calibration \"" + cut + "\": line 3, column ");
  EXPECT_SAYS(with(other), "version is 2 (allowed: a whole number from 1 to 1)");
  EXPECT_SAYS(with(good + ".none"), "cannot open");
  EXPECT_SAYS(with(good, "ranks = 2\n"), "each of its ranks is a worker");
  EXPECT_SAYS(with(good, "role = \"decode\"\n"), "this worker's role is decode");
}

TEST(CalibrationFlag, GoesToTheWorkerThatWasMeasured) {
  const std::string path = file_of("b", text_of("http://b:8000/"));
  const auto settings = of_flags({"--worker-urls", "http://a:8000", "http://b:8000", "--calibration", path});
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(settings->workers[0].calibration, "");
  EXPECT_EQ(settings->workers[1].calibration, path);
  EXPECT_EQ(why(of_text(to_toml(*settings))), "");
  EXPECT_SAYS(of_flags({"--worker-urls", "http://a:8000", "--calibration", path}), "url is \"http://b:8000/\"");
}

TEST(CalibrationFlag, TwoOfOneWorkerAreRefused) {
  const std::string first = file_of("c", text_of("http://c:8000"));
  const std::string second = file_of("d", text_of("http://c:8000"));
  EXPECT_SAYS(of_flags({"--worker-urls", "http://c:8000", "--calibration", first, second}), "two calibrations");
}

}  // namespace
}  // namespace evenkeel::config
