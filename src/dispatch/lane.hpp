#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace evenkeel::dispatch {

/// What this router's own workers are at for one model, peers not counted: what it tells peers of itself. Workers that
/// only prefill are not of it.
struct Lane {
  std::int64_t workers = 0;     ///< that serve it
  bool routable = false;        ///< one of them may be routed to
  std::int64_t slots = 0;       ///< requests at once, of those that may be
  std::int64_t in_flight = 0;   ///< at these workers, ours and what peers sent, of whichever model
  double foreign_requests = 0;  ///< that their engines report beyond
  Tokens kv_tokens;             ///< of what is in flight
  Tokens kv_capacity;           ///< zero: not told
  std::int64_t generated_ever = 0;
  std::int64_t prefilled_ever = 0;
  std::int64_t waiting = 0;  ///< requests of the model in the waiting pool
  Tokens waiting_tokens;     ///< output that they are expected to have
};

}  // namespace evenkeel::dispatch
