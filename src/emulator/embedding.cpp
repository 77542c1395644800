#include "emulator/embedding.hpp"

#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.hpp"
#include "base/text.hpp"

namespace evenkeel::emulator {

std::vector<float> embed(const Prompt& input, std::int64_t dimensions, std::uint64_t seed) {
  Random random(mix64(seed) ^ input.hash);
  std::vector<double> draws(static_cast<std::size_t>(dimensions));
  double square = 0;
  for (double& each : draws) {
    each = random.normal(0, 1);
    square += each * each;
  }
  std::vector<float> vector;
  vector.reserve(draws.size());
  const double length = square > 0 ? std::sqrt(square) : 1;
  for (const double each : draws) vector.push_back(static_cast<float>(each / length));
  return vector;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (i < have ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) out += i <= have ? digits[bits >> (18 - 6 * i) & 63U] : '=';
  }
  return out;
}

std::string embedding_json(const EmbeddingRequest& request, std::string_view id, std::string_view model,
                           std::int64_t created, std::uint64_t seed) {
  static_assert(std::endian::native == std::endian::little, "the wire form is little endian");
  std::string out = fmt::format(R"({{"id":"{}","object":"list","created":{},"model":)", id, created);
  append_json_string(out, model);
  out += R"(,"data":[)";
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const auto vector = embed(request.inputs[i], request.dimensions, seed);
    fmt::format_to(std::back_inserter(out), R"({}{{"index":{},"object":"embedding","embedding":)", i > 0 ? "," : "", i);
    if (request.base64) {
      const std::string_view bytes(reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float));
      out += '"' + base64(bytes) + "\"}";
    } else {
      fmt::format_to(std::back_inserter(out), "[{}]}}", fmt::join(vector, ","));
    }
    tokens += request.inputs[i].tokens;
  }
  fmt::format_to(std::back_inserter(out),
                 R"(],"usage":{{"prompt_tokens":{0},"total_tokens":{0},"completion_tokens":0,)"
                 R"("prompt_tokens_details":null}}}})",
                 tokens);
  return out;
}

}  // namespace evenkeel::emulator
