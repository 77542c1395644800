#include "gateway/error_body.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::gateway {

namespace {
std::string_view anthropic_type(int status) {
  switch (status) {
    case 400: return "invalid_request_error";
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return "api_error";
  }
}

void append_or_null(std::string& out, std::string_view text) {
  if (text.empty()) {
    out += "null";
  } else {
    append_json_string(out, text);
  }
}
}  // namespace

std::string error_body(Dialect dialect, const ApiError& error) {
  std::string out;
  if (dialect == Dialect::messages) {
    out = fmt::format("{{\"type\":\"error\",\"error\":{{\"type\":\"{}\",\"message\":", anthropic_type(error.status));
    append_json_string(out, error.message);
    return out + "}}";
  }
  out = "{\"error\":{\"message\":";
  append_json_string(out, error.message);
  out += ",\"type\":";
  append_json_string(out, error.type);
  out += ",\"param\":";
  append_or_null(out, error.param);
  out += ",\"code\":";
  append_or_null(out, error.code);
  return out + "}}";
}

std::string error_event(Dialect dialect, const ApiError& error) {
  if (dialect == Dialect::openai || dialect == Dialect::opaque) return "data: " + error_body(dialect, error) + "\n\n";
  if (dialect == Dialect::messages) return "event: error\ndata: " + error_body(dialect, error) + "\n\n";
  std::string out = "event: error\ndata: {\"type\":\"error\",\"code\":";
  append_or_null(out, error.code.empty() ? error.type : error.code);
  out += ",\"message\":";
  append_json_string(out, error.message);
  out += ",\"param\":";
  append_or_null(out, error.param);
  return out + "}\n\n";
}

}  // namespace evenkeel::gateway
