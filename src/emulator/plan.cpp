#include "emulator/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::emulator {
namespace {

constexpr std::int64_t completions_default_bound = 16;

std::optional<ApiError> check_fit(const GenerationRequest& request, const Prompt& prompt, std::int64_t model_length) {
  const std::int64_t wanted = request.max_tokens.value_or(1);
  if (prompt.tokens < model_length && wanted <= model_length - prompt.tokens) return std::nullopt;
  const std::string bound = request.max_tokens ? fmt::format("{} output tokens and", wanted) : "output and";
  return ApiError{400, "BadRequestError",
                  fmt::format("This model's maximum context length is {} tokens. You asked for {} a prompt of {} "
                              "tokens.",
                              model_length, bound, prompt.tokens),
                  "input_tokens"};
}

std::uint64_t text_key(const GenerationRequest& request, const Prompt& prompt, std::int64_t child, std::uint64_t seed) {
  std::uint64_t key = mix64(seed) ^ prompt.hash;
  if (request.sampling_seed) key = mix64(key ^ static_cast<std::uint64_t>(*request.sampling_seed));
  return mix64(key + static_cast<std::uint64_t>(child));
}

}  // namespace

tl::expected<std::int64_t, ApiError> parse_told_length(std::string_view value) {
  constexpr std::uint64_t most = 1'000'000'000;
  const auto count = parse_unsigned(trim(value));
  if (count && *count >= 1 && *count <= most) return static_cast<std::int64_t>(*count);
  return tl::unexpected(
      schema_error(fmt::format("header X-Emulate-Output-Tokens is \"{}\"; wanted: a whole number from 1 to {}",
                               value.substr(0, 60), most),
                   "X-Emulate-Output-Tokens"));
}

tl::expected<std::vector<Sequence>, ApiError> plan(const GenerationRequest& request, std::optional<std::int64_t> told,
                                                   const PlanRules& rules) {
  std::vector<Sequence> sequences;
  for (std::size_t p = 0; p < request.prompts.size(); ++p) {
    const Prompt& prompt = request.prompts[p];
    if (auto error = check_fit(request, prompt, rules.model_length)) return tl::unexpected(*error);
    const std::int64_t room = rules.model_length - prompt.tokens;
    const bool short_default = request.endpoint == Endpoint::completions;
    const std::int64_t bound =
        std::min(room, request.max_tokens.value_or(short_default ? completions_default_bound : room));
    for (std::int64_t child = 0; child < request.n; ++child) {
      Sequence sequence;
      sequence.prompt = p;
      sequence.prompt_tokens = prompt.tokens;
      sequence.key = text_key(request, prompt, child, rules.seed);
      std::int64_t wanted = 0;
      if (told) {
        wanted = *told;
      } else if (request.ignore_eos) {
        wanted = bound + 1;
      } else {
        Random random(mix64(sequence.key ^ 0x6c656e677468ULL));
        wanted = std::max({std::int64_t{1}, request.min_tokens, (*rules.draw_output)(random)});
      }
      sequence.output_tokens = std::min(wanted, bound);
      sequence.reason = wanted > bound ? engine::FinishReason::length : engine::FinishReason::stop;
      sequences.push_back(sequence);
    }
  }
  return sequences;
}

}  // namespace evenkeel::emulator
