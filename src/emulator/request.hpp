#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "emulator/api_error.hpp"
#include "emulator/bootstrap_params.hpp"
#include "emulator/json_body.hpp"
#include "emulator/kv_transfer.hpp"
#include "emulator/text.hpp"

namespace evenkeel::emulator {

enum class Endpoint : std::uint8_t { chat, completions, responses, messages };

struct Prompt {
  std::int64_t tokens = 0;
  std::uint64_t hash = 0;
  std::vector<std::int64_t> ids;  ///< only if the client wants ids back
  TokenChain chain;               ///< only for an engine with a prefix cache
};

/// What a generation endpoint was asked for, all of it checked but for what depends on the engine.
struct GenerationRequest {
  Endpoint endpoint = Endpoint::chat;
  std::vector<Prompt> prompts;  ///< at least one, each of at least one token
  std::int64_t n = 1;           ///< answers a prompt; prompts times n is at most most_sequences
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  bool return_token_ids = false;
  bool ignore_eos = false;
  std::int64_t min_tokens = 0;
  std::optional<std::int64_t> max_tokens;  ///< >= 1
  std::optional<std::int64_t> sampling_seed;
  std::string request_id;              ///< the body's own, or empty
  std::optional<KvTransferParams> kv;  ///< chat and completions only, as the next
  std::optional<BootstrapParams> bootstrap;
};

/// vLLM allows 16384; a single machine that plays several engines allows less.
inline constexpr std::int64_t most_sequences = 1024;
/// What an image or a sound in a prompt counts.
inline constexpr std::int64_t tokens_of_a_part = 256;

/// Reads the body of `endpoint`. `model` is the one that is served: a body that names none (absent, null or
/// empty) means it, another name is 404. Fields that are not known are ignored, as vLLM does. `block_tokens`: of the
/// engine's prefix cache; 0: it has none.
[[nodiscard]] tl::expected<GenerationRequest, ApiError> parse_generation(Endpoint endpoint, std::string_view body,
                                                                         std::string_view model,
                                                                         std::int64_t block_tokens = 0);

/// What /v1/embeddings was asked for.
struct EmbeddingRequest {
  std::vector<Prompt> inputs;
  std::int64_t dimensions = 64;  ///< 1 to 4096
  bool base64 = false;
};
[[nodiscard]] tl::expected<EmbeddingRequest, ApiError> parse_embedding(std::string_view body, std::string_view model);

/// What /tokenize was asked for: `prompt` or `messages`.
[[nodiscard]] tl::expected<Prompt, ApiError> parse_tokenize(std::string_view body, std::string_view model);
/// What /detokenize was asked for: the token ids.
[[nodiscard]] tl::expected<std::vector<std::int64_t>, ApiError> parse_detokenize(std::string_view body,
                                                                                 std::string_view model);

/// Parts of the above, which share a reader of prompts (prompts.cpp). Faults are noted in `body`.
/// A string, a list of strings, a list of token ids or a list of such lists.
[[nodiscard]] std::vector<Prompt> read_prompts(JsonBody& body, std::string_view key, const PromptReading& wanted);
/// A list of messages whose content is a text, a list of parts, or null; `before` are further fields that
/// hold text of the prompt (a system text).
[[nodiscard]] Prompt read_messages(JsonBody& body, std::string_view key, std::string_view before,
                                   const PromptReading& wanted);

}  // namespace evenkeel::emulator
