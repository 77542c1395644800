#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenkeel {

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
/// Whether `text` begins with `prefix`, in letters of either size, and goes on after it.
[[nodiscard]] inline bool goes_on_from(std::string_view prefix, std::string_view text) {
  return text.size() > prefix.size() && equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

/// The whole text as a number, or nothing (no sign for the unsigned form, no blanks, no trailing bytes).
[[nodiscard]] std::optional<std::uint64_t> parse_unsigned(std::string_view text);
/// Finite values only.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);

/// The candidate with the smallest edit distance to `wrong`, or "" if none is near (over a third of its length).
[[nodiscard]] std::string_view nearest_name(std::string_view wrong, std::span<const std::string_view> names);

/// What a message of a part that knows its fields only says to a person who gave flags: begins it with a field of
/// `flags` and a blank, it begins with that flag instead.
[[nodiscard]] std::string in_flags(std::string message,
                                   std::span<const std::pair<std::string_view, std::string_view>> flags);

/// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// 2023-11-16T18:15:46.680Z
[[nodiscard]] std::string format_utc_millis(std::int64_t unix_millis);

}  // namespace evenkeel
