#include "cli/fit_report.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "maths/change_detector.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"

namespace evenkeel::cli {

namespace {

namespace json = boost::json;

std::string count_text(std::size_t count) { return report::grouped(static_cast<std::int64_t>(count)); }

std::string number(double value) { return fmt::format("{:.4g}", value); }

/// As the table names the estimates.
std::string_view title_of(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> titles[] = {
      {"rate_per_s", "arrivals"},
      {"recent_rate_per_s", "arrivals, recent"},
      {"dispersion", "dispersion"},
      {"dispersion_about_drift", "dispersion about the drift"},
      {"correlation", "correlation of two workers"},
      {"correlation_of_pairs", "correlation as routed"},
      {"prompt_tokens", "prompt"},
      {"output_tokens", "output"},
      {"token_s", "time of a token"},
      {"duration_s", "duration"},
      {"tail_index", "tail index"},
      {"prompt_gb", "held at admission"},
      {"growth_gb_per_s", "growth"},
      {"window_gb", "held at the window's end"},
  };
  const auto* const at = std::ranges::find(titles, key, &std::pair<std::string_view, std::string_view>::first);
  return at->second;
}

json::object estimate_json(const planning::Fitted& fitted) {
  if (!fitted) return {{"refused", fitted.error().message}};
  return {{"value", fitted->value},
          {"low", fitted->interval.low},
          {"high", fitted->interval.high},
          {"samples", fitted->samples},
          {"provenance", fitted->provenance}};
}

json::array texts(const std::vector<std::string>& lines) {
  json::array out;
  for (const auto& line : lines) out.emplace_back(line);
  return out;
}

json::value tail_json(const planning::LengthFit& lengths) {
  if (!lengths.tail) return nullptr;
  const auto& tail = *lengths.tail;
  json::object out{{"unit", lengths.unit},
                   {"k", tail.k},
                   {"threshold", tail.threshold},
                   {"standard_error", tail.standard_error},
                   {"cut_off", tail.k - tail.ended},
                   {"distance", tail.distance},
                   {"against_exponential", tail.against_exponential}};
  out["cap"] = lengths.cap > 0 ? json::value(lengths.cap) : json::value(nullptr);
  out["peaks_p"] = lengths.peaks ? json::value(lengths.peaks->p_value) : json::value(nullptr);
  return out;
}

json::array stretches_json(const planning::FleetFit& fit) {
  const double window_s = fit.options.window_s;
  json::array out;
  for (const auto& stretch : fit.arrivals.stretches) {
    out.push_back(json::object{{"from_s", static_cast<double>(stretch.first) * window_s},
                               {"to_s", static_cast<double>(stretch.first + stretch.windows) * window_s},
                               {"rate_per_s", stretch.mean / window_s}});
  }
  return out;
}

void add_lines(std::string& out, std::string_view label, const std::vector<std::string>& lines) {
  for (const auto& line : lines) out += fmt::format("{}: {}\n", label, line);
}

}  // namespace

std::string fit_text(const FitSource::Read& read) {
  const auto& fit = read.fit;
  std::string out = fmt::format("{} of {} requests, {} of them cut off, in {} windows of {} s\n\n",
                                count_text(fit.heavy.size()), count_text(fit.requests), count_text(fit.lengths.cut_off),
                                count_text(fit.arrivals.counts.size()), number(fit.options.window_s));
  using report::Align;
  report::Table table(
      {{"what", Align::left}, {"value"}, {"95 %"}, {"unit", Align::left}, {"n"}, {"from", Align::left}});
  for (const auto& [key, unit, fitted] : fit.rows()) {
    const std::string title(title_of(key));
    if (!*fitted) {
      table.add_row({title, "-", "-", "", "-", "not told: " + fitted->error().message});
      continue;
    }
    const auto& [value, interval, samples, provenance] = **fitted;
    table.add_row({title, number(value), fmt::format("{} to {}", number(interval.low), number(interval.high)),
                   std::string(unit), count_text(samples), provenance});
  }
  out += table.text();
  if (!read.notes.empty() || !fit.warnings.empty() || !fit.obstacles.empty()) out += "\n";
  add_lines(out, "note", read.notes);
  add_lines(out, "warning", fit.warnings);
  add_lines(out, "no reserve can be planned from this", fit.obstacles);
  return out;
}

std::string fit_json(const FitSource::Read& read, const std::string& from) {
  const auto& fit = read.fit;
  json::object estimates;
  for (const auto& [key, unit, fitted] : fit.rows()) estimates[key] = estimate_json(*fitted);
  const json::object out{{"from", from},
                         {"format", read.format},
                         {"requests", fit.requests},
                         {"heavy", fit.heavy.size()},
                         {"cut_off", fit.lengths.cut_off},
                         {"windows", fit.arrivals.counts.size()},
                         {"window_s", fit.options.window_s},
                         {"nodes", fit.arrivals.nodes},
                         {"estimates", std::move(estimates)},
                         {"tail", tail_json(fit.lengths)},
                         {"stretches", stretches_json(fit)},
                         {"notes", texts(read.notes)},
                         {"warnings", texts(fit.warnings)},
                         {"obstacles", texts(fit.obstacles)}};
  return json::serialize(out) + "\n";
}

std::string tail_svg(const planning::FleetFit& fit) {
  const auto& lengths = fit.lengths;
  report::LineChart chart;
  chart.title = "How long requests last";
  chart.x = {lengths.unit == "s" ? "duration, s" : "output tokens", true};
  chart.y = {"share that lasts longer", true};
  if (!lengths.tail) return report::to_svg(chart);
  const auto& tail = *lengths.tail;
  const auto values = lengths.sample->values();
  chart.title +=
      fmt::format(": tail index {:.2f} (95 %: {:.2f} to {:.2f})", tail.index, tail.interval.low, tail.interval.high);
  report::Series seen{"observed", {}, {}};
  for (std::size_t i = values.size(); i-- > 0;) {
    // Every hundredth of an e-fold in rank is enough for the eye.
    const bool shown = seen.y.empty() || lengths.sample->survival(i) < 0.98 * seen.y.back() || i < 20;
    if (!shown) continue;
    seen.x.push_back(values[i].value);
    seen.y.push_back(lengths.sample->survival(i));
  }
  report::Series power{fmt::format("power law over {} {}", number(tail.threshold), lengths.unit), {}, {}};
  report::Series light{"exponential law", {}, {}};
  const double share = lengths.sample->survival(tail.k);
  double excess = 0;
  for (const auto& lifetime : values.first(tail.k)) excess += lifetime.value - tail.threshold;
  const double rate = static_cast<double>(tail.ended) / excess;
  constexpr int steps = 60;
  for (int i = 0; i <= steps; ++i) {
    const double x = tail.threshold * std::pow(values.front().value / tail.threshold, static_cast<double>(i) / steps);
    power.x.push_back(x);
    power.y.push_back(share * std::pow(x / tail.threshold, -tail.index));
    const double y = share * std::exp(-rate * (x - tail.threshold));
    if (y < 0.1 / static_cast<double>(values.size())) continue;
    light.x.push_back(x);
    light.y.push_back(y);
  }
  chart.series = {std::move(seen), std::move(power), std::move(light)};
  return report::to_svg(chart);
}

std::string rate_svg(const planning::FleetFit& fit) {
  const double window_s = fit.options.window_s;
  report::LineChart chart;
  chart.title = "Arrivals of heavy requests";
  chart.x.title = "time, s";
  chart.y.title = "a second";
  report::Series seen{fmt::format("windows of {} s", number(window_s)), {}, {}};
  report::Series recent{fmt::format("smoothed, weight {}", fit.options.smoothing), {}, {}};
  report::Series stretches{"stretches of about one rate", {}, {}};
  maths::SmoothedRate smoothed(fit.options.smoothing);
  for (std::size_t i = 0; i < fit.arrivals.counts.size(); ++i) {
    const double end = static_cast<double>(i + 1) * window_s;
    smoothed.add(fit.arrivals.counts[i]);
    seen.x.push_back(end);
    seen.y.push_back(fit.arrivals.counts[i] / window_s);
    recent.x.push_back(end);
    recent.y.push_back(smoothed.value() / window_s);
  }
  for (const auto& stretch : fit.arrivals.stretches) {
    for (const std::size_t at : {stretch.first, stretch.first + stretch.windows}) {
      stretches.x.push_back(static_cast<double>(at) * window_s);
      stretches.y.push_back(stretch.mean / window_s);
    }
  }
  chart.series = {std::move(seen), std::move(recent), std::move(stretches)};
  return report::to_svg(chart);
}

}  // namespace evenkeel::cli
