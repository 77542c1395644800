#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace evenkeel::fleet {

/// The one way a request ended. Retry, breaker, log and metrics all read this and nothing else.
enum class Outcome : std::uint8_t {
  completed,        ///< a true end, whatever the engine answered short of a fault
  client_fault,     ///< 4xx other than 408/429: neither for nor against the worker
  back_pressure,    ///< 429, or 503 that says "full": the worker is well and busy
  worker_fault,     ///< 5xx, an error event, an answer that is no answer
  transport_fault,  ///< connect refused, reset, timed out, cut short
  cancelled,        ///< the client went away or we were told to stop
};
inline constexpr std::array all_outcomes = {Outcome::completed,    Outcome::client_fault,    Outcome::back_pressure,
                                            Outcome::worker_fault, Outcome::transport_fault, Outcome::cancelled};
[[nodiscard]] std::string_view to_string(Outcome outcome);

/// Why a request got no worker. The closed list behind X-Evenkeel-Refusal.
enum class Refusal : std::uint8_t {
  pool_full,      ///< 429: as many wait as may
  pool_bytes,     ///< 429: the bodies of those waiting fill the limit
  wait_too_long,  ///< 429: the measured drain says the deadline would be missed
  deadline,       ///< 429: the deadline was missed while workers were busy
  no_worker,      ///< 503: no worker of the model became routable in time
  all_tried,      ///< 503: every routable worker of the model has already failed this request
  shutting_down,  ///< 503
  redline,        ///< 429: the fleet is short of memory and takes no heavy request
  no_slot,        ///< 503: it was not to wait, and no slot was open
  pressure,       ///< 429: this box takes nothing on, and no other that could serve it is to be had
  // Of a model whose prefill and decode are on separate workers, instead of no_worker:
  no_prefill_worker,  ///< 503
  no_decode_worker,   ///< 503
};
inline constexpr std::array all_refusals = {
    Refusal::pool_full, Refusal::pool_bytes, Refusal::wait_too_long,     Refusal::deadline,
    Refusal::no_worker, Refusal::all_tried,  Refusal::shutting_down,     Refusal::redline,
    Refusal::no_slot,   Refusal::pressure,   Refusal::no_prefill_worker, Refusal::no_decode_worker};
[[nodiscard]] std::string_view to_string(Refusal refusal);
[[nodiscard]] int http_status(Refusal refusal);

/// Where a count of output tokens comes from, best first.
enum class TokenSource : std::uint8_t { usage, token_ids, events, estimate, none };
[[nodiscard]] std::string_view to_string(TokenSource source);

}  // namespace evenkeel::fleet
