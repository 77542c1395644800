#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "base/random.hpp"
#include "emulator/api_error.hpp"
#include "emulator/request.hpp"
#include "engine/events.hpp"

namespace evenkeel::emulator {

/// The fate of one answer: how long, how it ends, and the key of its text.
struct Sequence {
  std::size_t prompt = 0;  ///< index into the request's prompts
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 1;
  engine::FinishReason reason = engine::FinishReason::stop;
  std::uint64_t key = 0;
  std::int64_t delivered = 0;  ///< tokens that have gone out so far
  std::int64_t cached = 0;     ///< prompt tokens that were found in the prefix cache; known with the first token
};

struct PlanRules {
  std::int64_t model_length = 0;  ///< prompt and output together
  std::uint64_t seed = 1;
  const std::function<std::int64_t(Random&)>* draw_output = nullptr;
};

/// Decides each answer, prompt by prompt, n for each. The length is, first that applies: `told` (exactly so
/// many), the bound with ignore_eos, else a draw of at least min_tokens. The bound is the client's; without
/// one 16 for completions and what the model length leaves for the others. An answer that would go on at the
/// bound ends for length. Error: 400 if a prompt, or a prompt and its bound, does not fit into the model
/// length.
[[nodiscard]] tl::expected<std::vector<Sequence>, ApiError> plan(const GenerationRequest& request,
                                                                 std::optional<std::int64_t> told,
                                                                 const PlanRules& rules);

/// The value of X-Emulate-Output-Tokens: a whole number from 1.
[[nodiscard]] tl::expected<std::int64_t, ApiError> parse_told_length(std::string_view value);

}  // namespace evenkeel::emulator
