#include "load/replay_svg.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "load/worker_share.hpp"
#include "report/chart.hpp"

namespace evenkeel::load {

namespace {

constexpr std::string_view size_mark = "viewBox=\"0 0 ";

/// One chart of `report` inside a larger drawing: without its prolog, moved down.
std::string placed(std::string_view svg, double y) {
  const auto root = svg.find("<svg ");
  return fmt::format("<svg y=\"{:.0f}\" {}", y, svg.substr(root + 5));
}

struct Size {
  double width = 0;
  double height = 0;
};

Size size_of(std::string_view svg) {
  Size size;
  const auto at = svg.find(size_mark);
  if (at == std::string_view::npos) return size;
  const std::string numbers(svg.substr(at + size_mark.size(), 40));
  std::size_t used = 0;
  size.width = std::stod(numbers, &used);
  size.height = std::stod(numbers.substr(used));
  return size;
}

std::string stacked(const std::vector<std::string>& charts) {
  std::string body;
  Size all;
  for (const auto& chart : charts) {
    const Size size = size_of(chart);
    body += placed(chart, all.height);
    all.width = std::max(all.width, size.width);
    all.height += size.height;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\">\n{2}</svg>\n",
      all.width, all.height, body);
}

std::string ttft_chart(std::span<const ReplayReport> reports) {
  report::EcdfChart chart;
  chart.title = "Time to first token, from the scheduled arrival";
  chart.x = {"TTFT in ms", true};
  for (const auto& report : reports) chart.samples.push_back({report.label, report.ttft_values_ms});
  return report::to_svg(std::move(chart));
}

std::string share_chart(std::span<const ReplayReport> reports, const std::vector<std::string>& workers) {
  report::BarChart chart;
  chart.title = "Answers by worker";
  chart.y = {"% of the answers", false};
  chart.groups = workers;
  for (const auto& report : reports) {
    chart.series.push_back(report.label);
    std::vector<double> shares;
    for (const auto& worker : workers) shares.push_back(100 * answer_share(report, worker));
    chart.values.push_back(std::move(shares));
  }
  return report::to_svg(chart);
}

}  // namespace

std::string comparison_svg(std::span<const ReplayReport> reports) {
  std::vector<std::string> charts{ttft_chart(reports)};
  if (const auto workers = worker_names(reports); !workers.empty()) charts.push_back(share_chart(reports, workers));
  return stacked(charts);
}

}  // namespace evenkeel::load
