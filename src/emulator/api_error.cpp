#include "emulator/api_error.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::emulator {

ApiError schema_error(std::string message, std::string param) {
  return {400, "Bad Request", std::move(message), std::move(param)};
}

ApiError injected_error(int status) {
  const char* type = status == 503 ? "ServiceUnavailableError" : "InternalServerError";
  return {status, status < 500 ? "BadRequestError" : type, "Injected fault.", ""};
}

std::string openai_error(const ApiError& error) {
  std::string out = R"({"error":{"message":)";
  append_json_string(out, error.message);
  out += R"(,"type":)";
  append_json_string(out, error.type);
  out += R"(,"param":)";
  if (error.param.empty()) {
    out += "null";
  } else {
    append_json_string(out, error.param);
  }
  out += fmt::format(R"(,"code":{}}}}})", error.status);
  return out;
}

std::string anthropic_error(const ApiError& error) {
  std::string_view type = "api_error";
  if (error.status == 404) type = "not_found_error";
  if (error.status == 400) type = "invalid_request_error";
  if (error.status == 503) type = "overloaded_error";
  std::string out = fmt::format(R"({{"type":"error","error":{{"type":"{}","message":)", type);
  append_json_string(out, error.message);
  out += "}}";
  return out;
}

}  // namespace evenkeel::emulator
