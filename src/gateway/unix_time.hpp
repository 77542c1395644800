#pragma once

#include <chrono>
#include <cstdint>

namespace evenkeel::gateway {

/// For what people and other machines are told; no decision rests on it.
[[nodiscard]] inline std::int64_t unix_ms() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

}  // namespace evenkeel::gateway
