#include "workload/csv_reader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::workload {

Result<CsvReader> CsvReader::open(const std::string& path, std::span<const std::string_view> columns) {
  auto lines = LineReader::open(path);
  if (!lines) return tl::unexpected(lines.error());
  CsvReader csv(std::move(*lines));
  if (!csv.lines_.next()) {
    csv.reject("the file is empty; a header line is wanted");
    return tl::unexpected(*csv.fault());
  }
  const auto header = split(csv.lines_.line(), ',');
  csv.width_ = header.size();
  for (const auto column : columns) {
    const auto at = std::find(header.begin(), header.end(), column);
    if (at == header.end()) {
      csv.reject(fmt::format("the header has no column `{}`; wanted: {}", column, fmt::join(columns, ",")));
      return tl::unexpected(*csv.fault());
    }
    csv.names_.emplace_back(column);
    csv.places_.push_back(static_cast<std::size_t>(at - header.begin()));
  }
  return csv;
}

bool CsvReader::split_line() {
  fields_.clear();
  std::string_view rest = lines_.line();
  while (fields_.size() <= width_) {
    const auto comma = rest.find(',');
    fields_.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (fields_.size() == width_) return true;
  lines_.reject(fmt::format("the row has {} fields; the header has {}",
                            fields_.size() > width_ ? "more" : std::to_string(fields_.size()), width_));
  return false;
}

bool CsvReader::next() { return !fault() && lines_.next() && split_line(); }

void CsvReader::reject_field(std::size_t column, std::string_view allowed) {
  constexpr std::size_t shown = 60;
  reject(fmt::format("field `{}` is \"{}\"; allowed: {}", names_[column], text(column).substr(0, shown), allowed));
}

std::int64_t CsvReader::whole(std::size_t column, std::int64_t least, std::int64_t most) {
  const auto value = parse_unsigned(text(column));
  if (value && *value <= static_cast<std::uint64_t>(most) && *value >= static_cast<std::uint64_t>(least)) {
    return static_cast<std::int64_t>(*value);
  }
  reject_field(column, fmt::format("a whole number from {} to {}", least, most));
  return 0;
}

double CsvReader::number(std::size_t column, double least, double most) {
  const auto value = parse_double(text(column));
  if (value && *value >= least && *value <= most) return *value;
  reject_field(column, fmt::format("a number from {} to {}", least, most));
  return 0;
}

double CsvReader::number_or_0(std::size_t column, double least, double most) {
  return text(column).empty() ? 0 : number(column, least, most);
}

}  // namespace evenkeel::workload
