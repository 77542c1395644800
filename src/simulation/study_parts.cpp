#include "simulation/study_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/markdown.hpp"

namespace evenkeel::simulation {

namespace {

std::string times(const Summary& a, const Summary& b, double Metrics::*metric) {
  const double value = ratio(a, b, metric).value;
  return value >= 100 ? report::fixed(value, 0) : report::fixed(value, 2);
}

std::vector<std::string> labels_in_pictures(const CaseResult& result) {
  std::vector<std::string> labels;
  for (const StudyLine& line : result.what.lines) {
    if (line.in_pictures) labels.push_back(line.label());
  }
  return labels;
}

/// For each line in pictures what `value` gives by case.
template <class Value>
std::vector<std::vector<double>> values_in_pictures(const StudyResults& results, Value value) {
  std::vector<std::vector<double>> all;
  const auto& lines = results.front().what.lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].in_pictures) continue;
    all.emplace_back();
    for (const CaseResult& result : results) all.back().push_back(value(result, result.lines[i]));
  }
  return all;
}

template <class Value>
std::string bars(const StudyResults& results, std::string title, std::string unit, Value value) {
  report::BarChart chart;
  chart.title = std::move(title);
  chart.y = {std::move(unit), false};
  for (const CaseResult& result : results) chart.groups.push_back(result.what.label);
  chart.series = labels_in_pictures(results.front());
  chart.values = values_in_pictures(results, value);
  return report::to_svg(chart);
}

/// What differs from the defaults of `evenkeel simulate`.
std::string flags(const Options& options) {
  const Options usual;
  std::string text = fmt::format("--workers {} --slots {}", options.workers, options.slots);
  if (options.sync) text += " --sync";
  const auto add = [&](std::string_view flag, const auto& value, const auto& unchanged) {
    if (value != unchanged) text += fmt::format(" --{} {}", flag, value);
  };
  add("speeds", options.speeds, usual.speeds);
  add("prompts", options.prompts, usual.prompts);
  add("outputs", options.outputs, usual.outputs);
  add("classes", options.classes, usual.classes);
  if (options.pool) text += fmt::format(" --pool {}", *options.pool);
  if (options.pool_requests) text += fmt::format(" --pool-requests {}", *options.pool_requests);
  if (options.utilisation) text += fmt::format(" --utilisation {}", *options.utilisation);
  add("stale-steps", options.stale_steps, usual.stale_steps);
  return text;
}

struct Rival {
  std::size_t line = 0;
  const Summary* summary = nullptr;
};

std::optional<Rival> best_rival(const CaseResult& result) {
  std::optional<Rival> best;
  for (std::size_t i = 0; i < result.lines.size(); ++i) {
    const StudyLine& line = result.what.lines[i];
    if (knows_outputs(line) || line.policy.starts_with("balance")) continue;
    const Summary& each = result.lines[i];
    if (!best || each.mean.mean_imbalance < best->summary->mean.mean_imbalance) best = Rival{i, &each};
  }
  return best;
}

}  // namespace

std::string text_of(const Estimate& estimate, int decimals, double unit) {
  const std::string value = report::fixed(estimate.value / unit, decimals);
  return estimate.error > 0 ? fmt::format("{} ±{}", value, report::fixed(estimate.error / unit, decimals)) : value;
}

Estimate estimate(const Summary& summary, double Metrics::*metric) {
  return {summary.mean.*metric, summary.error.*metric};
}

Estimate paired_difference(const Summary& a, const Summary& b, double Metrics::*metric) {
  std::vector<double> differences;
  double sum = 0;
  for (std::size_t k = 0; k < std::min(a.runs.size(), b.runs.size()); ++k) {
    differences.push_back(a.runs[k].metrics.*metric - b.runs[k].metrics.*metric);
    sum += differences.back();
  }
  const auto count = static_cast<double>(differences.size());
  return {count > 0 ? sum / count : 0, standard_error(differences)};
}

Estimate ratio(const Summary& a, const Summary& b, double Metrics::*metric) {
  const Ratio both = paired_ratio(a, b, metric);
  return {both.value, both.error};
}

std::string comparison_table(const CaseResult& result) {
  MarkdownTable table({"policy", "imbalance, k tokens", "share of first", "longest wait x", "P99 wait x", "overtaken",
                       "tok/s", "TPOT P95 ms", "occupancy", "held", "mean prompt"});
  const Summary& first = result.lines.front();
  for (std::size_t i = 0; i < result.lines.size(); ++i) {
    const Summary& each = result.lines[i];
    table.add_row(
        {fmt::format(
             "`{}`{}", result.what.lines[i].policy,
             result.what.lines[i].overtake_cap > 0 ? fmt::format(", cap {}", result.what.lines[i].overtake_cap) : ""),
         text_of(estimate(each, &Metrics::mean_imbalance), 2, 1e3),
         text_of(ratio(each, first, &Metrics::mean_imbalance), 3), times(each, first, &Metrics::wait_max_s),
         times(each, first, &Metrics::wait_p99_s), report::grouped(static_cast<std::int64_t>(each.mean.overtakes_max)),
         text_of(estimate(each, &Metrics::throughput), 1), text_of(estimate(each, &Metrics::tpot_p95_ms), 2),
         report::fixed(100 * each.mean.occupancy, 2) + " %", report::fixed(100 * each.mean.held_share, 2) + " %",
         report::fixed(each.mean.served_mean_prompt, 0)});
  }
  return table.text();
}

std::string commands(const CaseResult& result) {
  std::map<int, std::vector<std::string>> by_cap;
  for (const StudyLine& line : result.what.lines) by_cap[line.overtake_cap].push_back(line.policy);
  std::string text = "```sh\n";
  for (const auto& [cap, policies] : by_cap) {
    text += fmt::format("evenkeel simulate {}{} --steps {} --seeds {} --seed {} \\\n  --policy \"{}\"\n",
                        flags(result.what.options), cap > 0 ? fmt::format(" --overtake-cap {}", cap) : "",
                        result.what.options.steps, result.lines.front().runs.size(),
                        result.lines.front().runs.front().seed, fmt::join(policies, ","));
  }
  return text + "```\n";
}

std::string comparison_section(const CaseResult& result) {
  std::string text = fmt::format("## {}\n\n{}\n", result.what.label, comparison_table(result));
  for (const std::string& note : result.notes) text += fmt::format("Note: {}.\n\n", note);
  return text + commands(result) + '\n';
}

std::string comparison_sections(const StudyResults& results) {
  std::string text;
  for (const CaseResult& result : results) text += comparison_section(result);
  return text;
}

std::string imbalance_bars(const StudyResults& results) {
  return bars(results, "Mean imbalance", "KV tokens, thousands",
              [](const CaseResult&, const Summary& line) { return line.mean.mean_imbalance / 1e3; });
}

std::string throughput_bars(const StudyResults& results) {
  return bars(results, fmt::format("Output tokens a second over {}", results.front().what.lines.front().label()),
              "gain, percent", [](const CaseResult& result, const Summary& line) {
                return 100 * (ratio(line, result.lines.front(), &Metrics::throughput).value - 1);
              });
}

std::string lines_chart(const StudyResults& results, std::string title, std::string x_title,
                        const std::vector<double>& x, std::string y_title, double Metrics::*metric, double unit,
                        bool log_y) {
  report::LineChart chart;
  chart.title = std::move(title);
  chart.x = {std::move(x_title), false};
  chart.y = {std::move(y_title), log_y};
  const auto labels = labels_in_pictures(results.front());
  const auto values =
      values_in_pictures(results, [&](const CaseResult&, const Summary& line) { return line.mean.*metric / unit; });
  for (std::size_t i = 0; i < labels.size(); ++i) chart.series.push_back({labels[i], x, values[i]});
  return report::to_svg(chart);
}

std::string bullets(std::initializer_list<std::string> sentences) {
  std::string text;
  for (const std::string& sentence : sentences) {
    if (!sentence.empty()) text += fmt::format("- {}\n", sentence);
  }
  return text;
}

bool knows_outputs(const StudyLine& line) { return line.policy.find("forecast=oracle") != std::string::npos; }

std::string balance_against_rivals(const StudyResults& results) {
  std::string text;
  for (const CaseResult& result : results) {
    const Summary* const ours = result.find("balance");
    const auto rival = best_rival(result);
    if (ours == nullptr || !rival) continue;
    text += fmt::format(
        "{}{}: `balance` {} thousand tokens, best rival without an oracle `{}` with {}, ratio {}",
        text.empty() ? "" : "; ", result.what.label, text_of(estimate(*ours, &Metrics::mean_imbalance), 1, 1e3),
        result.what.lines[rival->line].label(), text_of(estimate(*rival->summary, &Metrics::mean_imbalance), 1, 1e3),
        text_of(ratio(*ours, *rival->summary, &Metrics::mean_imbalance), 3));
  }
  return text.empty() ? text : text + ".";
}

std::string balance_price(const StudyResults& results) {
  double longest = 0;
  double p99 = 0;
  double occupancy = 1;
  double held = 0;
  double prompt = 0;
  double least_gain = 1e9;
  double most_gain = -1e9;
  for (const CaseResult& result : results) {
    const Summary* const ours = result.find("balance");
    if (ours == nullptr) continue;
    const Summary& first = result.lines.front();
    longest = std::max(longest, ratio(*ours, first, &Metrics::wait_max_s).value);
    p99 = std::max(p99, ratio(*ours, first, &Metrics::wait_p99_s).value);
    occupancy = std::min(occupancy, ours->mean.occupancy);
    held = std::max(held, ours->mean.held_share);
    prompt = std::max(prompt, std::abs(ratio(*ours, first, &Metrics::served_mean_prompt).value - 1));
    const double gain = 100 * (ratio(*ours, first, &Metrics::throughput).value - 1);
    least_gain = std::min(least_gain, gain);
    most_gain = std::max(most_gain, gain);
  }
  return fmt::format(
      "Of all settings `balance` has a longest wait of at most {} and a P99 wait of at most {} times that "
      "of `{}`, {} to {} percent more output tokens a second, at least {} percent of the slots in use "
      "(at most {} percent held open), and a mean prompt served that differs by at most {} percent.",
      report::fixed(longest, 2), report::fixed(p99, 2), results.front().what.lines.front().label(),
      report::fixed(least_gain, 2), report::fixed(most_gain, 2), report::fixed(100 * occupancy, 2),
      report::fixed(100 * held, 2), report::fixed(100 * prompt, 2));
}

}  // namespace evenkeel::simulation
