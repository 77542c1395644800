#pragma once

namespace evenkeel {

/// Whether this build looks for faults of memory or of threads. A figure over many draws is the same number there and
/// takes ten times as long: the release build holds the figure, and a sanitizer sees the same code on fewer draws.
#ifdef EVENKEEL_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// So many draws, rounds or steps: `full`, or `fewer` under a sanitizer.
template <class Count>
[[nodiscard]] constexpr Count effort(Count full, Count fewer) {
  return sanitized ? fewer : full;
}

}  // namespace evenkeel
