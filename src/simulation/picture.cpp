#include "simulation/picture.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/chart.hpp"

namespace evenkeel::simulation {

namespace {

struct Size {
  double width = 0;
  double height = 0;
};

Size size_of(std::string_view svg) {
  constexpr std::string_view mark = "viewBox=\"0 0 ";
  const auto at = svg.find(mark);
  if (at == std::string_view::npos) return {};
  const auto numbers = svg.substr(at + mark.size());
  const auto parts = split(numbers.substr(0, numbers.find('"')), ' ');
  return {parse_double(parts[0]).value_or(0), parse_double(parts[1]).value_or(0)};
}

/// Charts side by side in rows of `columns`.
std::string tiled(const std::vector<std::string>& charts, std::size_t columns) {
  Size cell;
  for (const auto& chart : charts) {
    const Size size = size_of(chart);
    cell = {std::max(cell.width, size.width), std::max(cell.height, size.height)};
  }
  std::string body;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::string_view svg = charts[i];
    body += fmt::format("<svg x=\"{:.0f}\" y=\"{:.0f}\" {}", static_cast<double>(i % columns) * cell.width,
                        static_cast<double>(i / columns) * cell.height, svg.substr(svg.find("<svg ") + 5));
  }
  const std::size_t rows = (charts.size() + columns - 1) / columns;
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\">\n{2}</svg>\n",
      static_cast<double>(std::min(columns, charts.size())) * cell.width, static_cast<double>(rows) * cell.height,
      body);
}

std::string trajectories(const Summary& summary) {
  const Trajectories& seen = summary.runs.front().trajectories;
  report::LineChart chart;
  chart.title = fmt::format("{}: load of each worker", summary.policy.text());
  chart.x = {"steps measured"};
  chart.y = {"KV tokens, thousands"};
  for (std::size_t worker = 0; worker < seen.loads.size(); ++worker) {
    report::Series series{fmt::format("w{}", worker), seen.step, seen.loads[worker]};
    for (double& tokens : series.y) tokens /= 1e3;
    chart.series.push_back(std::move(series));
  }
  return report::to_svg(chart);
}

std::string bars(std::span<const Summary> summaries, std::string_view title, std::string_view unit,
                 double Metrics::*metric, double scale) {
  report::BarChart chart;
  chart.title = title;
  chart.y = {std::string(unit), false};
  chart.groups = {""};
  for (const Summary& each : summaries) {
    chart.series.push_back(each.policy.text());
    chart.values.push_back({each.mean.*metric * scale});
  }
  return report::to_svg(chart);
}

}  // namespace

std::string comparison_svg(std::span<const Summary> summaries) {
  std::vector<std::string> charts;
  for (const Summary& each : summaries) charts.push_back(trajectories(each));
  charts.push_back(bars(summaries, "Mean imbalance", "tokens, thousands", &Metrics::mean_imbalance, 1e-3));
  charts.push_back(bars(summaries, "Output tokens", "tokens/s", &Metrics::throughput, 1));
  charts.push_back(bars(summaries, "Time per output token, P95", "ms", &Metrics::tpot_p95_ms, 1));
  charts.push_back(bars(summaries, "Wait for a worker, P99", "s", &Metrics::wait_p99_s, 1));
  return tiled(charts, 2);
}

}  // namespace evenkeel::simulation
