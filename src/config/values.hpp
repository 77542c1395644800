#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace evenkeel::config {

/// "250ms", "1.5s", "2m", "1h"; units ns us ms s m h; a bare number is seconds. Not negative, at most some
/// 290 years.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);
/// Exact, reads back: whole hours, else whole seconds ("90s"), else a smaller unit; 0 is "0s".
[[nodiscard]] std::string format_duration(Duration duration);

/// "64MiB", "1.5KiB", "10MB"; units B kB MB GB (powers of 1000) KiB MiB GiB (of 1024); a bare number is
/// bytes. Whole bytes only.
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);
/// The largest binary unit that divides it: "64MiB", "65537B".
[[nodiscard]] std::string format_bytes(Bytes bytes);

}  // namespace evenkeel::config
