#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulator/bootstrap.hpp"
#include "emulator/kv_handoff.hpp"
#include "emulator/live_engine.hpp"

namespace evenkeel::emulator {

/// What one endpoint counts.
struct Counters {
  std::int64_t received = 0;   ///< generation requests that were taken
  std::int64_t completed = 0;  ///< answered to their end
  std::int64_t aborted = 0;    ///< their client went first
  std::int64_t faulted = 0;    ///< a fault ended them
  std::int64_t in_flight = 0;  ///< HTTP requests, as /load counts them
};

/// GET /emulator/state: the true state of the engine, all ranks of it, and what the endpoint counts.
/// `handoff` and `bootstrap` are null without a role.
[[nodiscard]] std::string state_json(const LiveEngine& engine, const Counters& counters, std::size_t connections,
                                     const KvHandoff* handoff, const Bootstrap* bootstrap);
/// What is measured since the last restart, as the state shows it under "measured".
[[nodiscard]] std::string measured_json(const Measured& measured);

}  // namespace evenkeel::emulator
