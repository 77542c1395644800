#include "calibrate/calibration.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::calibrate {

namespace json = boost::json;

std::string difference(const Measured& then, const Measured& now) {
  const auto text = [](std::string_view what, const std::string& a, const std::string& b) {
    return a.empty() || b.empty() || a == b ? std::string() : fmt::format("{} was \"{}\" and is \"{}\"", what, a, b);
  };
  if (auto differs = text("served_id", then.served_id, now.served_id); !differs.empty()) return differs;
  if (then.max_model_len && now.max_model_len && *then.max_model_len != *now.max_model_len) {
    return fmt::format("max_model_len was {} and is {}", *then.max_model_len, *now.max_model_len);
  }
  if (auto differs = text("runtime", then.runtime, now.runtime); !differs.empty()) return differs;
  return text("version", then.version, now.version);
}

std::vector<fleet::RatePoint> Calibration::rate_points() const {
  std::vector<fleet::RatePoint> points;
  for (const LevelSample& sample : samples) points.push_back({static_cast<double>(sample.level), sample.tokens_per_s});
  return points;
}

std::string to_json(const Calibration& calibration) {
  const Measured& of = calibration.measured;
  const Options& options = calibration.options;
  json::object measured{{"served_id", of.served_id},
                        {"max_model_len", of.max_model_len ? json::value(*of.max_model_len) : json::value(nullptr)},
                        {"runtime", of.runtime},
                        {"version", of.version.empty() ? json::value(nullptr) : json::value(of.version)}};
  json::array levels;
  for (const LevelSample& sample : calibration.samples) {
    levels.push_back(json::object{{"level", sample.level},
                                  {"tokens_per_s", sample.tokens_per_s},
                                  {"ttft_s", sample.ttft_s},
                                  {"requests", sample.requests},
                                  {"tokens", sample.tokens},
                                  {"window_s", sample.window_s}});
  }
  json::object out{{"version", 1},
                   {"url", calibration.url},
                   {"fingerprint", std::move(measured)},
                   {"measured_at", format_utc_millis(calibration.measured_at_ms)},
                   {"usable", calibration.knee.usable()},
                   {"slots", calibration.knee.level},
                   {"reason", to_string(calibration.knee.reason)},
                   {"ttft_bound_s", options.ttft_bound_s},
                   {"min_relative_gain", options.min_relative_gain},
                   {"max_tokens", options.max_tokens},
                   {"timeout_s", options.timeout_s},
                   {"schedule", json::value_from(options.schedule)},
                   {"levels", std::move(levels)},
                   {"notes", json::value_from(calibration.notes)}};
  return json::serialize(out) + '\n';
}

}  // namespace evenkeel::calibrate
