#pragma once

#include <cstdint>
#include <string_view>

namespace evenkeel::http {

/// Field names that decide something here, told apart once, as a head is read. Everything else is `other`.
enum class FieldName : std::uint8_t {
  other,
  accept_encoding,
  authorization,
  cache_control,
  connection,
  content_encoding,
  content_length,
  content_type,
  expect,
  host,
  keep_alive,
  origin,
  proxy_authenticate,
  proxy_authorization,
  proxy_connection,
  te,
  trailer,
  transfer_encoding,
  upgrade,
  x_accel_buffering,
  x_api_key,
  x_request_id,
};

/// `name` is a token as RFC 9110 5.6.2 allows it; ASCII case is ignored.
[[nodiscard]] FieldName field_name(std::string_view name);

}  // namespace evenkeel::http
