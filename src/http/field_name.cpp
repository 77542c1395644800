#include "http/field_name.hpp"

#include <cstring>

namespace evenkeel::http {

namespace {

template <class Word>
bool same_word(const char* name, const char* lower) {
  Word a = 0, b = 0, bit = 0;
  std::memcpy(&a, name, sizeof a);
  std::memcpy(&b, lower, sizeof b);
  std::memset(&bit, 0x20, sizeof bit);
  return (a | bit) == b;
}

/// Whether `name` is `lower`, which has small letters and hyphens only. With the bit 0x20 set a capital is its small
/// letter, and no other character of a token becomes a letter or a hyphen. Words that overlap: no loop.
template <std::size_t N>
bool is(const char* name, const char (&lower)[N]) {
  constexpr std::size_t size = N - 1;
  if constexpr (size > 16) {
    return same_word<std::uint64_t>(name, lower) && same_word<std::uint64_t>(name + 8, lower + 8) &&
           same_word<std::uint64_t>(name + size - 8, lower + size - 8);
  } else if constexpr (size >= 8) {
    return same_word<std::uint64_t>(name, lower) && same_word<std::uint64_t>(name + size - 8, lower + size - 8);
  } else if constexpr (size >= 4) {
    return same_word<std::uint32_t>(name, lower) && same_word<std::uint32_t>(name + size - 4, lower + size - 4);
  } else {
    static_assert(size == 2);
    return same_word<std::uint16_t>(name, lower);
  }
}

}  // namespace

FieldName field_name(std::string_view name) {
  const char* const n = name.data();
  switch (name.size()) {
    case 2: return is(n, "te") ? FieldName::te : FieldName::other;
    case 4: return is(n, "host") ? FieldName::host : FieldName::other;
    case 6: return is(n, "expect") ? FieldName::expect : is(n, "origin") ? FieldName::origin : FieldName::other;
    case 7: return is(n, "upgrade") ? FieldName::upgrade : is(n, "trailer") ? FieldName::trailer : FieldName::other;
    case 9: return is(n, "x-api-key") ? FieldName::x_api_key : FieldName::other;
    case 10:
      if (is(n, "connection")) return FieldName::connection;
      return is(n, "keep-alive") ? FieldName::keep_alive : FieldName::other;
    case 12:
      if (is(n, "content-type")) return FieldName::content_type;
      return is(n, "x-request-id") ? FieldName::x_request_id : FieldName::other;
    case 13:
      if (is(n, "authorization")) return FieldName::authorization;
      return is(n, "cache-control") ? FieldName::cache_control : FieldName::other;
    case 14: return is(n, "content-length") ? FieldName::content_length : FieldName::other;
    case 15: return is(n, "accept-encoding") ? FieldName::accept_encoding : FieldName::other;
    case 16:
      if (is(n, "content-encoding")) return FieldName::content_encoding;
      return is(n, "proxy-connection") ? FieldName::proxy_connection : FieldName::other;
    case 17:
      if (is(n, "transfer-encoding")) return FieldName::transfer_encoding;
      return is(n, "x-accel-buffering") ? FieldName::x_accel_buffering : FieldName::other;
    case 18: return is(n, "proxy-authenticate") ? FieldName::proxy_authenticate : FieldName::other;
    case 19: return is(n, "proxy-authorization") ? FieldName::proxy_authorization : FieldName::other;
    default: return FieldName::other;
  }
}

}  // namespace evenkeel::http
