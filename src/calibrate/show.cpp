#include "calibrate/show.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"

namespace evenkeel::calibrate {

namespace {

std::string knee_line(const Calibration& calibration) {
  if (!calibration.knee.usable()) return why_unusable(calibration);
  const auto at = std::ranges::find(calibration.samples, calibration.knee.level, &LevelSample::level);
  return fmt::format("{} slots at {} tok/s: more {}", calibration.knee.level, report::fixed(at->tokens_per_s, 2),
                     calibration.knee.reason == KneeReason::plateau
                         ? "gain too little (plateau)"
                         : "take too long to a first token, or gain too little (ttft_bound)");
}

}  // namespace

std::string why_unusable(const Calibration& calibration) {
  if (calibration.knee.reason == KneeReason::top_of_ramp) {
    return fmt::format(
        "not plateaued: the highest level measured, {}, still gained; give a --schedule that goes higher",
        calibration.knee.level);
  }
  const std::string first =
      calibration.samples.empty()
          ? ""
          : fmt::format(": {} s at level {}", report::fixed(calibration.samples.front().ttft_s, 3),
                        calibration.samples.front().level);
  return fmt::format("no level is within the bound of {} s to a first token{}", calibration.options.ttft_bound_s,
                     first);
}

std::string to_text(const Calibration& calibration) {
  const Measured& of = calibration.measured;
  std::string out = fmt::format("{} at {}, {}{}{}, {}\n\n", of.served_id, calibration.url, of.runtime,
                                of.version.empty() ? "" : " " + of.version,
                                of.max_model_len ? fmt::format(", window {}", *of.max_model_len) : "",
                                format_utc_millis(calibration.measured_at_ms));
  report::Table table({{"level"}, {"tok/s"}, {"tok/s each"}, {"TTFT p50 s"}, {"requests"}, {"seconds"}});
  for (const LevelSample& sample : calibration.samples) {
    table.add_row({fmt::format("{}", sample.level), report::fixed(sample.tokens_per_s, 2),
                   report::fixed(sample.tokens_per_s / static_cast<double>(sample.level), 2),
                   report::fixed(sample.ttft_s, 3), fmt::format("{}", sample.requests),
                   report::fixed(sample.window_s, 1)});
  }
  out += table.text() + "\n" + knee_line(calibration) + "\n";
  for (const std::string& note : calibration.notes) out += "note: " + note + "\n";
  return out;
}

std::string to_svg(const Calibration& calibration) {
  report::LineChart chart;
  chart.title = fmt::format("{}: output tokens per second by requests at once", calibration.measured.served_id);
  chart.x = {"requests at once", false};
  chart.y = {"output tokens per second", false};
  report::Series curve{"measured", {0}, {0}};
  for (const LevelSample& sample : calibration.samples) {
    curve.x.push_back(static_cast<double>(sample.level));
    curve.y.push_back(sample.tokens_per_s);
  }
  if (calibration.knee.usable()) {
    const auto slots = static_cast<double>(calibration.knee.level);
    const double top = std::ranges::max(curve.y);
    chart.series.push_back({fmt::format("knee: {} slots", calibration.knee.level), {slots, slots}, {0, top}});
  }
  chart.series.insert(chart.series.begin(), std::move(curve));
  return report::to_svg(chart);
}

}  // namespace evenkeel::calibrate
