#pragma once

#include <cstdint>
#include <optional>

#include "emulator/json_body.hpp"
#include "emulator/side_channel.hpp"

namespace evenkeel::emulator {

/// The fields bootstrap_host, bootstrap_port and bootstrap_room of a request: where its two legs meet, as in SGLang.
struct BootstrapParams {
  Peer prefill;  ///< port 8998 if none is told
  std::int64_t room = 0;
};
inline constexpr std::int64_t last_room = INT64_MAX;

/// None without a room. Fields of a wrong kind are faults of the body; so are lists, which are not emulated.
[[nodiscard]] std::optional<BootstrapParams> read_bootstrap(JsonBody& body);

}  // namespace evenkeel::emulator
