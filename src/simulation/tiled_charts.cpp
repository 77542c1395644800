#include "simulation/tiled_charts.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

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

}  // namespace

std::string tiled_charts(const std::vector<std::string>& charts, std::size_t columns) {
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

}  // namespace evenkeel::simulation
