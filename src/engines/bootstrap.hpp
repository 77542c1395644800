#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace evenkeel::engines {

// How SGLang hands KV from a prefill engine to a decode engine, as far as it passes the router: both get the request at
// once, with the same three members that name where they meet. The prefill engine waits until the decode engine has
// room for the KV. A room that is in use crashes both (sgl-project/sglang#40125).

inline constexpr std::uint16_t default_bootstrap_port = 8998;

/// Where a prefill engine is met. IPv6 without brackets.
struct BootstrapServer {
  std::string host;
  std::uint16_t port = default_bootstrap_port;
};

/// A room, 0 to 2^63 - 1, from 64 random bits. Engines take the prefill rank to be room mod ranks, so it is drawn to be
/// `rank` of `ranks`.
[[nodiscard]] std::int64_t bootstrap_room(std::uint64_t random, std::uint32_t rank = 0, std::uint32_t ranks = 1);

/// The body for both engines: `body` byte for byte, with the members of the meeting as its last. One room for a request
/// of one prompt, a list of one a prompt for others; at least one. An error if `body` is no JSON object. Linear in its
/// length.
[[nodiscard]] Result<std::string> bootstrap_body(std::string_view body, const BootstrapServer& server,
                                                 std::span<const std::int64_t> rooms);

/// What /server_info tells of an engine's part.
struct DisaggregationInfo {
  std::string mode;  ///< "prefill", "decode" or "null"
  std::uint16_t bootstrap_port = default_bootstrap_port;
};
/// Nothing if the page tells no mode; a port that is none is the default.
[[nodiscard]] std::optional<DisaggregationInfo> read_disaggregation(std::string_view server_info);

}  // namespace evenkeel::engines
