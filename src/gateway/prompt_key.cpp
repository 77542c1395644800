#include "gateway/prompt_key.hpp"

#include <cstring>

namespace evenkeel::gateway {

namespace {

constexpr std::size_t piece = 16;
constexpr std::size_t gaps = 7;       // between eight pieces
constexpr std::size_t fraction = 16;  // bits behind the point of a place in the text

/// Both halves of the product of two words, folded: every bit of both counts.
std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t with_piece(std::uint64_t hash, const char* at) {
  std::uint64_t first = 0, second = 0;
  std::memcpy(&first, at, 8);
  std::memcpy(&second, at + 8, 8);
  return folded(hash ^ first, 0x9E3779B97F4A7C15U ^ second) + second;
}

}  // namespace

std::uint64_t prompt_key(std::string_view text, std::uint64_t salt) {
  std::uint64_t hash = folded(salt | 1U, 0xD6E8FEB86659FD93U + 2 * text.size());
  if (text.size() < piece) {
    char padded[piece] = {};
    std::memcpy(padded, text.data(), text.size());
    hash = with_piece(hash, padded);
  } else {
    const std::size_t last = text.size() - piece;
    const std::size_t step =
        ((last << fraction) + gaps - 1) / gaps;  // rounded up: the last piece ends where the text does
    for (std::size_t i = 0, at = 0; i <= gaps; ++i, at += step) hash = with_piece(hash, text.data() + (at >> fraction));
  }
  return folded(hash, 0xA0761D6478BD642FU) | 1U;
}

}  // namespace evenkeel::gateway
