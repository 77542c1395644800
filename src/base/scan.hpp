#pragma once

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace evenkeel {

/// The first `c` in [from, to), or `to`. For text in which it is mostly a few bytes away and sometimes very far:
/// the first 16 bytes are looked at in place, which costs less than a call, the rest is memchr's.
inline const char* find_byte(const char* from, const char* to, char c) {
#if defined(__SSE2__)
  if (to - from >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8(c)));
    if (found != 0) return from + __builtin_ctz(static_cast<unsigned>(found));
    from += 16;
  }
#endif
  if (from == to) return to;
  const void* const at = std::memchr(from, c, static_cast<std::size_t>(to - from));
  return at == nullptr ? to : static_cast<const char*>(at);
}

/// The quote that ends a JSON string whose inside begins at `from`, if it is near and no backslash stands before it,
/// else null: then nothing is known. For the short strings that JSON mostly consists of.
inline const char* find_near_quote(const char* from, const char* to) {
#if defined(__SSE2__)
  if (to - from >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const int quotes = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')));
    const int escapes = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    const int before_first = ~quotes & (quotes - 1);
    if (quotes != 0 && (escapes & before_first) == 0) return from + __builtin_ctz(static_cast<unsigned>(quotes));
  }
#endif
  (void)from, (void)to;
  return nullptr;
}

}  // namespace evenkeel
