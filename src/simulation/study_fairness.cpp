// Who waits how long.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/markdown.hpp"
#include "simulation/studies.hpp"
#include "simulation/study_parts.hpp"
#include "simulation/study_workload.hpp"
#include "simulation/tiled_charts.hpp"

namespace evenkeel::simulation {

namespace {

using Deciles = std::array<double, 10>;

/// Means over the seeds.
Deciles deciles(const Summary& summary) {
  Deciles mean{};
  for (const RunResult& run : summary.runs) {
    for (std::size_t d = 0; d < mean.size(); ++d) {
      mean[d] += run.metrics.wait_by_decile_s[d] / static_cast<double>(summary.runs.size());
    }
  }
  return mean;
}

double unevenness(const Summary& summary) {
  const Deciles mean = deciles(summary);
  const auto [least, most] = std::minmax_element(mean.begin(), mean.end());
  return *least > 0 ? *most / *least : 0;
}

std::string decile_table(const CaseResult& result) {
  std::vector<std::string> titles = {"mean wait s, by decile of prompt size"};
  for (int d = 1; d <= 10; ++d) titles.push_back(fmt::to_string(d));
  titles.insert(titles.end(), {"most / least", "P99 s", "longest s"});
  MarkdownTable table(titles);
  for (std::size_t i = 0; i < result.lines.size(); ++i) {
    const Summary& each = result.lines[i];
    std::vector<std::string> row = {fmt::format("`{}`", result.what.lines[i].label())};
    for (const double wait : deciles(each)) row.push_back(report::fixed(wait, 1));
    row.push_back(report::fixed(unevenness(each), 1));
    row.push_back(report::fixed(each.mean.wait_p99_s, 1));
    row.push_back(text_of({each.mean.wait_max_s, 0}, 1));
    table.add_row(row);
  }
  return table.text();
}

std::string decile_chart(const CaseResult& result) {
  report::LineChart chart;
  chart.title = fmt::format("Mean wait by prompt size, {}", result.what.label);
  chart.x = {"decile of prompt size"};
  chart.y = {"s", true};
  for (std::size_t i = 0; i < result.lines.size(); ++i) {
    if (!result.what.lines[i].in_pictures) continue;
    report::Series series{result.what.lines[i].label(), {}, {}};
    for (const double wait : deciles(result.lines[i])) {
      series.x.push_back(static_cast<double>(series.x.size() + 1));
      series.y.push_back(wait);
    }
    chart.series.push_back(std::move(series));
  }
  return report::to_svg(chart);
}

StudyPage fairness_page(const StudyResults& results) {
  StudyPage page;
  std::vector<std::string> charts;
  for (const CaseResult& result : results) {
    page.tables += fmt::format("## {}\n\n{}\n{}\n{}\n", result.what.label, decile_table(result),
                               comparison_table(result), commands(result));
    charts.push_back(decile_chart(result));
    page.findings += fmt::format("- {}: of the deciles the one that waits longest waits ", result.what.label);
    for (std::size_t i = 0; i < result.lines.size(); ++i) {
      page.findings += fmt::format("{}{} (`{}`)", i == 0 ? "" : ", ", report::fixed(unevenness(result.lines[i]), 1),
                                   result.what.lines[i].label());
    }
    page.findings += " times as long as the one that waits least.\n";
  }
  page.findings += bullets({balance_price(results)});
  page.picture = tiled_charts(charts, 1);
  return page;
}

}  // namespace

Study fairness_study() {
  Study study{
      "fairness",
      "Even load: who pays with waiting",
      "A policy that may choose among the waiting requests can leave some for ever. Mean waits are by tenths of "
      "prompt size, the smallest first; requests that still wait at the end count with their wait so far. The cap "
      "is the number of later requests that may enter before one. The second table has the columns of "
      "[balance-table](balance-table.md).",
      {},
      fairness_page};
  for (const std::int64_t slots : {10, 32}) {
    study.cases.push_back({fmt::format("G = 8, B = {}", slots),
                           group_of(8, slots),
                           {{first_come},
                            {br0},
                            {br0, 40},
                            {brh_survival, 0, false},
                            {brh_survival, 40, false},
                            {brh_oracle, 0, false},
                            {brh_oracle, 40, false},
                            {brh_oracle_wide},
                            {brh_oracle_wide, 40},
                            {balance_full_slots, 0, false},
                            {"balance"},
                            {"balance", 40}}});
  }
  return study;
}

}  // namespace evenkeel::simulation
