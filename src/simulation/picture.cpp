#include "simulation/picture.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/chart.hpp"
#include "simulation/tiled_charts.hpp"

namespace evenkeel::simulation {

namespace {

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
  return tiled_charts(charts, 2);
}

}  // namespace evenkeel::simulation
