#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/request.hpp"

namespace evenkeel::emulator {

/// A vector of length 1 in a direction drawn from the hash of the input: equal inputs, equal vectors.
[[nodiscard]] std::vector<float> embed(const Prompt& input, std::int64_t dimensions, std::uint64_t seed);

/// The answer of /v1/embeddings.
[[nodiscard]] std::string embedding_json(const EmbeddingRequest& request, std::string_view id, std::string_view model,
                                         std::int64_t created, std::uint64_t seed);

/// RFC 4648, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace evenkeel::emulator
