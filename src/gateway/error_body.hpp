#pragma once

#include <string>
#include <string_view>

#include "gateway/endpoint.hpp"

namespace evenkeel::gateway {

/// A failure in the words of the endpoint's API. `type` is one of OpenAI's error types; Anthropic's follows from
/// the status.
struct ApiError {
  int status = 500;
  std::string_view type = "server_error";
  std::string message;
  std::string_view param;  ///< "" = null
  std::string_view code;   ///< "" = null
};

[[nodiscard]] std::string error_body(Dialect dialect, const ApiError& error);
/// The same as one stream event, ready to be sent.
[[nodiscard]] std::string error_event(Dialect dialect, const ApiError& error);

}  // namespace evenkeel::gateway
