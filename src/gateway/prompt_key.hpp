#pragma once

#include <cstdint>
#include <string_view>

namespace evenkeel::gateway {

/// Which prompt a request has, for forecasts, one a model, that know prompts again: a hash of the value of `messages`,
/// `prompt` or `input` as it stands in the JSON, and of its length. Up to 128 bytes all of it counts, of a longer one
/// eight pieces of 16 bytes spread evenly from its first byte to its last: the cost, some hundred instructions, does
/// not grow with the prompt. So prompts of one length that differ only between the pieces share a key, as two uses of
/// one template may. Salted: keys of two salts have nothing to do with each other, of one salt
/// they are the same in every process. Never 0.
[[nodiscard]] std::uint64_t prompt_key(std::string_view text, std::uint64_t salt);

}  // namespace evenkeel::gateway
