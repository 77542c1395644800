#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::report {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::right;
};

/// A plain-text table: a title line, a rule, rows; columns as wide as their widest cell, two blanks between,
/// no blanks at line ends. Control characters in cells become spaces, so that a name from outside cannot move
/// the cursor.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Missing cells are empty; more cells than columns throw std::invalid_argument.
  void add_row(std::vector<std::string> cells);
  /// A rule between the rows so far and those to come.
  void add_rule();
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  ///< an empty row is a rule
};

}  // namespace evenkeel::report
