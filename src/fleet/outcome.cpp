#include "fleet/outcome.hpp"

namespace evenkeel::fleet {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::completed: return "completed";
    case Outcome::client_fault: return "client_fault";
    case Outcome::back_pressure: return "back_pressure";
    case Outcome::worker_fault: return "worker_fault";
    case Outcome::transport_fault: return "transport_fault";
    case Outcome::cancelled: return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::pool_full: return "pool_full";
    case Refusal::pool_bytes: return "pool_bytes";
    case Refusal::wait_too_long: return "wait_too_long";
    case Refusal::deadline: return "deadline";
    case Refusal::no_worker: return "no_worker";
    case Refusal::all_tried: return "all_tried";
    case Refusal::shutting_down: return "shutting_down";
    case Refusal::redline: return "redline";
    case Refusal::no_slot: return "no_slot";
    case Refusal::pressure: return "pressure";
    case Refusal::no_prefill_worker: return "no_prefill_worker";
    case Refusal::no_decode_worker: return "no_decode_worker";
  }
  return "unknown";
}

int http_status(Refusal refusal) {
  switch (refusal) {
    case Refusal::pool_full:
    case Refusal::pool_bytes:
    case Refusal::wait_too_long:
    case Refusal::deadline:
    case Refusal::redline:
    case Refusal::pressure: return 429;
    case Refusal::no_worker:
    case Refusal::all_tried:
    case Refusal::shutting_down:
    case Refusal::no_slot:
    case Refusal::no_prefill_worker:
    case Refusal::no_decode_worker: return 503;
  }
  return 503;
}

std::string_view to_string(TokenSource source) {
  switch (source) {
    case TokenSource::usage: return "usage";
    case TokenSource::token_ids: return "token_ids";
    case TokenSource::events: return "events";
    case TokenSource::estimate: return "estimate";
    case TokenSource::none: return "none";
  }
  return "unknown";
}

}  // namespace evenkeel::fleet
