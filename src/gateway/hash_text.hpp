#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/random.hpp"

namespace evenkeel::gateway {

/// For short texts whose every byte counts: names, keys, salts.
[[nodiscard]] inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = seed;
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    hash = mix64(hash ^ word);
    text.remove_prefix(8);
  }
  std::uint64_t word = text.size();
  for (const char c : text) word = word << 8U | static_cast<unsigned char>(c);
  return mix64(hash ^ word);
}

}  // namespace evenkeel::gateway
