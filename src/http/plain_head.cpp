#include "http/plain_head.hpp"

#include <array>
#include <cstring>

#include "base/text.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace evenkeel::http {

namespace {

enum Class : std::uint8_t { in_name = 1, in_target = 2, in_reason = 4 };

constexpr auto classes = [] {
  std::array<std::uint8_t, 256> table{};
  const auto mark = [&table](std::string_view bytes, std::uint8_t as) {
    for (const char c : bytes) table[static_cast<unsigned char>(c)] |= as;
  };
  for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = in_name | in_target | in_reason;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = in_name | in_target | in_reason;
  for (unsigned char c = '0'; c <= '9'; ++c) table[c] = in_name | in_target;
  mark("-", in_name);
  mark("-._~/?=&%:,+@", in_target);
  mark(" -", in_reason);
  return table;
}();

/// Behind the longest run of bytes of one class.
const char* behind(const char* at, const char* end, Class of) {
  while (at != end && (classes[static_cast<unsigned char>(*at)] & of) != 0) ++at;
  return at;
}

/// Behind the longest run of letters, digits and hyphens.
const char* behind_name(const char* at, const char* end) {
#if defined(__SSE2__)
  if (end - at >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const auto up_to = [](__m128i value, char first, char count) {  // first <= value < first + count, unsigned
      const __m128i from_first = _mm_sub_epi8(value, _mm_set1_epi8(first));
      return _mm_cmpeq_epi8(_mm_min_epu8(from_first, _mm_set1_epi8(static_cast<char>(count - 1))), from_first);
    };
    const __m128i letter = up_to(_mm_or_si128(block, _mm_set1_epi8(0x20)), 'a', 26);
    const __m128i digit = up_to(block, '0', 10);
    const __m128i hyphen = _mm_cmpeq_epi8(block, _mm_set1_epi8('-'));
    const int name = _mm_movemask_epi8(_mm_or_si128(letter, _mm_or_si128(digit, hyphen)));
    if (name != 0xffff) return at + __builtin_ctz(~static_cast<unsigned>(name));
    at += 16;
  }
#endif
  return behind(at, end, in_name);
}

/// Behind the longest run of printable ASCII, blanks included.
const char* behind_printable(const char* at, const char* end) {
#if defined(__SSE2__)
  while (end - at >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i low = _mm_cmplt_epi8(block, _mm_set1_epi8(' '));  // signed: bytes over 0x7f are below it too
    const __m128i del = _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7f));
    const int found = _mm_movemask_epi8(_mm_or_si128(low, del));
    if (found != 0) return at + __builtin_ctz(static_cast<unsigned>(found));
    at += 16;
  }
#endif
  while (at != end && *at >= ' ' && *at != 0x7f) ++at;
  return at;
}

bool is_crlf(const char* at, const char* end) { return end - at >= 2 && at[0] == '\r' && at[1] == '\n'; }

/// A whole number that cannot overflow and has no sign.
bool read_length(std::string_view digits, std::uint64_t& length) {
  if (digits.empty() || digits.size() > 15) return false;
  length = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return true;
}

struct Reader {
  const char* const begin;
  const char* at;
  const char* const end;
  Head& head;

  [[nodiscard]] Span span(const char* from, const char* to) const {
    return {static_cast<std::uint32_t>(from - begin), static_cast<std::uint32_t>(to - from)};
  }
  bool take(std::string_view text) {
    if (static_cast<std::size_t>(end - at) < text.size() || std::memcmp(at, text.data(), text.size()) != 0)
      return false;
    at += text.size();
    return true;
  }

  bool read_field() {
    const char* const name_end = behind_name(at, end);
    if (name_end == at || name_end == end || *name_end != ':') return false;
    const char* value = name_end + 1;
    while (value != end && *value == ' ') ++value;
    const char* const value_end = behind_printable(value, end);
    if (!is_crlf(value_end, end) || (value_end != value && value_end[-1] == ' ')) return false;
    const std::string_view name(at, static_cast<std::size_t>(name_end - at));
    const std::string_view text(value, static_cast<std::size_t>(value_end - value));
    const FieldName known = field_name(name);
    switch (known) {
      case FieldName::transfer_encoding:
      case FieldName::upgrade:
      case FieldName::proxy_connection: return false;
      case FieldName::connection:
        if (!equals_ignoring_case(text, "keep-alive")) return false;
        break;
      case FieldName::content_length:
        if (head.has(known) || !read_length(text, head.content_length)) return false;
        break;
      default: break;
    }
    head.add({span(at, name_end), span(value, value_end), known});
    at = value_end + 2;
    return true;
  }

  bool read_fields(const HeadLimits& limits) {
    while (!is_crlf(at, end)) {
      if (head.fields.size() >= limits.fields || !read_field()) return false;
    }
    head.size = static_cast<std::uint32_t>(at + 2 - begin);
    return head.size <= limits.bytes;
  }
};

}  // namespace

bool read_plain_request_head(std::string_view buffer, const HeadLimits& limits, Head& head) {
  Reader reader{buffer.data(), buffer.data(), buffer.data() + buffer.size(), head};
  const bool known = reader.take("POST ") || reader.take("GET ");
  if (!known) return false;
  head.method = reader.span(reader.begin, reader.at - 1);
  const char* const target = reader.at;
  reader.at = behind(target, reader.end, in_target);
  if (reader.at == target || *target != '/') return false;
  head.target = reader.span(target, reader.at);
  if (!reader.take(" HTTP/1.1\r\n") || !reader.read_fields(limits)) return false;
  head.body = head.content_length > 0 ? BodyKind::length : BodyKind::none;
  return true;
}

bool read_plain_response_head(std::string_view buffer, const HeadLimits& limits, Head& head) {
  Reader reader{buffer.data(), buffer.data(), buffer.data() + buffer.size(), head};
  if (!reader.take("HTTP/1.1 ") || reader.end - reader.at < 4) return false;
  std::uint64_t status = 0;
  if (!read_length({reader.at, 3}, status) || status < 200 || reader.at[3] != ' ') return false;
  head.status = static_cast<int>(status);
  const char* const reason = reader.at + 4;
  reader.at = behind(reason, reader.end, in_reason);
  if (reader.at == reason) return false;
  head.reason = reader.span(reason, reader.at);
  if (!reader.take("\r\n") || !reader.read_fields(limits)) return false;
  // A length is needed: without one the end of the connection is the end, which is out of the ordinary.
  if (!head.has(FieldName::content_length)) return false;
  const bool bodyless = status == 204 || status == 304;
  head.body = head.content_length > 0 && !bodyless ? BodyKind::length : BodyKind::none;
  return true;
}

}  // namespace evenkeel::http
