#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "http/loop.hpp"

namespace evenkeel::emulator {

/// Where another emulated engine listens.
struct Peer {
  std::string host;
  std::uint16_t port = 0;
};

/// One small post of JSON to another emulated engine: the body of its answer, or none if that is not 200 within 5 s of
/// real time. The channel is our own; real engines do not speak it.
http::Task<std::optional<std::string>> tell_peer(http::Fiber& fiber, Peer peer, std::string path, std::string body);

}  // namespace evenkeel::emulator
