#include "simulation/markdown.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace evenkeel::simulation {

MarkdownTable::MarkdownTable(std::vector<std::string> titles) {
  add_row(titles);
  text_ += "|---|";
  for (std::size_t i = 1; i < titles.size(); ++i) text_ += "---:|";
  text_ += '\n';
}

void MarkdownTable::add_row(const std::vector<std::string>& cells) {
  text_ += fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace evenkeel::simulation
