#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace evenkeel::engines {

// How vLLM's NIXL connector (pull) hands KV from a prefill engine to a decode engine, as far as it passes the router:
// the first answers a request for one token with `kv_transfer_params`, with which the second finds the blocks. What is
// in the object is theirs alone; versions differ in it. All here is linear in the length of the bodies.

/// The body for the prefill engine: the client's top-level members as they came, but for one token, no stream, and the
/// wish to hand over. An error if `body` is no JSON object.
[[nodiscard]] Result<std::string> nixl_prefill_body(std::string_view body);

/// The handed-over object of a prefill engine's answer, byte for byte; nothing if there is none, or null: then whoever
/// decodes prefills, too.
[[nodiscard]] std::optional<std::string> nixl_transfer_params(std::string_view answer);

/// The body for the decode engine: `body`, a JSON object, byte for byte, with `params` as its last member.
[[nodiscard]] std::string nixl_decode_body(std::string_view body, std::string_view params);

}  // namespace evenkeel::engines
