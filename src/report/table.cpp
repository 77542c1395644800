#include "report/table.hpp"

#include <algorithm>
#include <stdexcept>

#include "report/numbers.hpp"

namespace evenkeel::report {

namespace {

std::string harmless(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

void end_line(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) throw std::invalid_argument("Table: more cells than columns");
  cells.resize(columns_.size());
  for (auto& cell : cells) cell = harmless(std::move(cell));
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::string Table::text() const {
  std::vector<int> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    int width = display_width(columns_[i].title);
    for (const auto& row : rows_) {
      if (!row.empty()) width = std::max(width, display_width(row[i]));
    }
    widths.push_back(width);
  }
  std::string out;
  const auto cell = [&](std::size_t i, std::string_view text) {
    if (i > 0) out += "  ";
    const auto blanks = static_cast<std::size_t>(widths[i] - display_width(text));
    if (columns_[i].align == Align::right) out.append(blanks, ' ');
    out += text;
    if (columns_[i].align == Align::left) out.append(blanks, ' ');
  };
  const auto rule = [&] {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      cell(i, std::string(static_cast<std::size_t>(widths[i]), '-'));
    }
    end_line(out);
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) cell(i, columns_[i].title);
  end_line(out);
  rule();
  for (const auto& row : rows_) {
    if (row.empty()) {
      rule();
      continue;
    }
    for (std::size_t i = 0; i < row.size(); ++i) cell(i, row[i]);
    end_line(out);
  }
  return out;
}

}  // namespace evenkeel::report
