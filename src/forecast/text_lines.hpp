#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::forecast {

/// The files of this room are text, a line an entry, and end in "checksum HEX" over all before it (64-bit FNV-1a:
/// against disks and editors, not against malice). Appends that line.
void append_checksum(std::string& text);
/// The text before the line of the checksum; an error if that is missing or wrong.
[[nodiscard]] Result<std::string_view> without_checksum(std::string_view text);

/// What such a file holds, read whole. Errors name the file, as `kind "path"`, and what is wrong with it.
[[nodiscard]] Result<std::string> read_whole(std::string_view kind, const std::string& path, std::size_t most_bytes);

/// A whole number of at most `most`, or nothing.
[[nodiscard]] std::optional<std::uint64_t> number(std::string_view word, std::uint64_t most);

/// Takes lines off a text, of which the first is taken already, and remembers where it is.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  /// The words of the next line; none at the end.
  [[nodiscard]] std::vector<std::string_view> next();
  /// The last line taken is not what is allowed.
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view allowed) const;
  [[nodiscard]] bool at_end() const { return text_.empty(); }
  [[nodiscard]] int line() const { return number_; }

 private:
  std::string_view text_;
  std::string_view line_;
  int number_ = 1;  ///< of the last line taken
};

}  // namespace evenkeel::forecast
