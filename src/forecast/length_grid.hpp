#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace evenkeel::forecast {

/// Buckets of output lengths: one a token up to `exact`, then `exact / 2` an octave, so that none is wider than
/// 2 / exact of the length it stands for. Node i is the length lower(i); bucket i lies between nodes i and i + 1.
/// All in integers and shifts, so an index costs about a nanosecond.
struct LengthGrid {
  static constexpr int exact_bits = 12;
  static constexpr std::int64_t exact = std::int64_t{1} << exact_bits;
  static constexpr int last_bits = 17;
  static constexpr std::int64_t longest = std::int64_t{1} << last_bits;  ///< tokens; longer lives count as this long
  static constexpr std::size_t buckets = (exact + (last_bits - exact_bits) * (exact / 2));

  /// The bucket of lengths [lower(i), lower(i + 1)) that holds `length`, in [0, longest]; `longest` itself is the last
  /// node.
  [[nodiscard]] static constexpr std::size_t index(std::int64_t length) {
    if (length < exact) return static_cast<std::size_t>(length);
    const int shift = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(length))) - exact_bits;
    return static_cast<std::size_t>((length >> shift) + shift * (exact / 2));
  }
  [[nodiscard]] static constexpr int shift(std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    return at < exact ? 0 : static_cast<int>(at / (exact / 2)) - 1;
  }
  [[nodiscard]] static constexpr std::int64_t width(std::size_t i) { return std::int64_t{1} << shift(i); }
  [[nodiscard]] static constexpr std::int64_t lower(std::size_t i) {
    const int s = shift(i);
    return (static_cast<std::int64_t>(i) - s * (exact / 2)) << s;
  }
};

}  // namespace evenkeel::forecast
