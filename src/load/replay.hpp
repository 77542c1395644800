#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "load/options.hpp"
#include "load/replay_report.hpp"
#include "workload/trace.hpp"

namespace evenkeel::load {

/// How far a replay is.
struct ReplayProgress {
  std::uint64_t total = 0;
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;  ///< of those that ended
  std::uint64_t in_flight = 0;
  std::uint64_t held = 0;  ///< due, and held back by the cap
};

/// Called on the replay's thread about ten times a second and once at the end; may be empty.
using OnProgress = std::function<void(const ReplayProgress&)>;

/// Sends a trace's requests at their times to an OpenAI-compatible server, whatever the server does (open
/// loop), and measures what comes back. Runs its own event loop on the calling thread until the last request
/// has ended; a failed request is part of the report, not an error. Error: an option is out of bounds, the
/// host has no address, no model is known. Memory: about 150 bytes a request of the trace, plus the texts in
/// flight.
[[nodiscard]] Result<ReplayReport> run_replay(const ReplayOptions& options, const workload::Trace& trace,
                                              const OnProgress& progress = {});

}  // namespace evenkeel::load
