#pragma once

#include <string_view>

namespace evenkeel::report {

inline constexpr char32_t replacement = 0xFFFD;

/// Takes one code point off the front of a text that is not empty; a byte that starts no valid sequence (RFC
/// 3629) is taken alone and read as U+FFFD.
[[nodiscard]] char32_t take_code_point(std::string_view& text);

}  // namespace evenkeel::report
