#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/line_reader.hpp"

namespace evenkeel::workload {

/// Rows of a comma-separated file with a header (no quoting: the trace formats use none). Columns are named
/// once at open() and found wherever the header has them; others are passed over. Fields are asked for by the
/// place in that list. A bad field notes a fault ("path:line: field `x` is "y"; allowed: ...") and gives 0,
/// so a reader asks for a whole row and then looks at fault() once.
class CsvReader {
 public:
  [[nodiscard]] static Result<CsvReader> open(const std::string& path, std::span<const std::string_view> columns);

  /// False at the end and after a fault.
  [[nodiscard]] bool next();
  [[nodiscard]] std::string_view text(std::size_t column) const { return fields_[places_[column]]; }
  [[nodiscard]] std::int64_t whole(std::size_t column, std::int64_t least, std::int64_t most);
  [[nodiscard]] double number(std::size_t column, double least, double most);
  /// As number(), but an empty field is 0.
  [[nodiscard]] double number_or_0(std::size_t column, double least, double most);

  void reject_field(std::size_t column, std::string_view allowed);
  void reject(std::string_view what) { lines_.reject(what); }
  [[nodiscard]] const std::optional<Error>& fault() const { return lines_.fault(); }

 private:
  explicit CsvReader(LineReader lines) : lines_(std::move(lines)) {}
  [[nodiscard]] bool split_line();

  LineReader lines_;
  std::vector<std::string> names_;   ///< columns asked for
  std::vector<std::size_t> places_;  ///< where in a row each of them is
  std::size_t width_ = 0;            ///< fields of the header
  std::vector<std::string_view> fields_;
};

}  // namespace evenkeel::workload
