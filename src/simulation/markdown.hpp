#pragma once

#include <string>
#include <vector>

namespace evenkeel::simulation {

/// A table of Markdown: the first column to the left, the others to the right.
class MarkdownTable {
 public:
  explicit MarkdownTable(std::vector<std::string> titles);
  /// As many cells as titles.
  void add_row(const std::vector<std::string>& cells);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace evenkeel::simulation
