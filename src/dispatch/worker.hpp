#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "fleet/view.hpp"

namespace evenkeel::dispatch {

enum class WorkerState : std::uint8_t {
  routable,
  trial,       ///< half-open breaker: takes one request at a time
  unroutable,  ///< dead, ejected or not yet seen alive
  draining,    ///< takes nothing new, finishes what it has
  removed,     ///< draining, and forgotten once empty
};
[[nodiscard]] std::string_view to_string(WorkerState state);

struct WorkerSpec {
  std::string name;
  std::vector<ModelId> models;
  std::int64_t max_in_flight = 256;
  std::string group{};                   ///< workers of one name make each step together; empty: it steps by itself
  fleet::Role role = fleet::Role::both;  ///< prefill workers serve models of their own: no other worker serves these
  bool peer = false;                     ///< another router's box: its load, slots and limit come by set_share()
};

/// What may be used of a worker that others use, too: of another router's box, as that router says.
struct WorkerShare {
  std::int64_t slots = 0;          ///< requests it serves at once, ours and others'; >= 0
  std::int64_t max_in_flight = 0;  ///< of ours; >= 0
  double foreign_requests = 0;     ///< of others, now there; >= 0
};

/// What an engine said about itself, and when it can have looked.
struct EngineReport {
  Time asked{};  ///< when the probe was sent
  Time received{};
  double running = 0;
  double waiting = 0;
  Tokens kv_used;      ///< zero if not told
  Tokens kv_capacity;  ///< zero if not told
};

}  // namespace evenkeel::dispatch
