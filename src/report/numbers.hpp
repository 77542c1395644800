#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace evenkeel::report {

/// Numbers for people. Three significant digits where digits are cut; what is not finite is "-".

/// 0, 0.042, 7.5, 999, 1.23k, 45.6M, 7.89G, 1.2T; a whole number under 1000 keeps its form.
[[nodiscard]] std::string short_number(double value);
/// 1234567 as 1,234,567
[[nodiscard]] std::string grouped(std::int64_t value);
/// A fixed number of decimals.
[[nodiscard]] std::string fixed(double value, int decimals);
/// 0.123 as 12.3 %
[[nodiscard]] std::string percent(double share);
/// 850 ns, 1.23 ms, 45.6 s, 12 min 5 s, 3 h 20 min
[[nodiscard]] std::string short_duration(Duration d);
/// 512 B, 1.5 KiB, 2 MiB
[[nodiscard]] std::string short_bytes(std::int64_t bytes);

/// Columns a terminal needs for UTF-8 text: combining marks 0, East Asian wide forms and emoji 2, bytes that
/// are not UTF-8 1 each. (The common ranges of Unicode's EastAsianWidth.txt, not the whole table.)
[[nodiscard]] int display_width(std::string_view text);

}  // namespace evenkeel::report
