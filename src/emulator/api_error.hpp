#pragma once

#include <string>

namespace evenkeel::emulator {

/// An error as a client is told it.
struct ApiError {
  int status = 400;
  std::string type = "BadRequestError";
  std::string message;
  std::string param;  ///< empty: null
};

/// A body that cannot be what the endpoint wants; vLLM calls what its schema refuses "Bad Request".
[[nodiscard]] ApiError schema_error(std::string message, std::string param = {});

/// What a fault was told to answer with.
[[nodiscard]] ApiError injected_error(int status);

/// {"error":{"message","type","param","code":int}}
[[nodiscard]] std::string openai_error(const ApiError& error);
/// {"type":"error","error":{"type","message"}}, for /v1/messages.
[[nodiscard]] std::string anthropic_error(const ApiError& error);

}  // namespace evenkeel::emulator
