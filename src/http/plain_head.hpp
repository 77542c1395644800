#pragma once

#include <string_view>

#include "http/message.hpp"

namespace evenkeel::http {

/// Reads an everyday head in one pass: whole in `buffer`, GET or POST with a path, or a final status; HTTP/1.1;
/// field values of printable ASCII; no field that concerns framing but one Content-Length; `Connection: keep-alive`
/// or none. False for whatever is out of the ordinary, malformed or not there yet: MessageParser then judges it from
/// its first byte, so nothing is accepted here that it would not accept, and what is accepted reads the same.
/// `head` must be clear; after false it must be cleared again. Costs a few instructions a byte.
[[nodiscard]] bool read_plain_request_head(std::string_view buffer, const HeadLimits& limits, Head& head);
[[nodiscard]] bool read_plain_response_head(std::string_view buffer, const HeadLimits& limits, Head& head);

}  // namespace evenkeel::http
