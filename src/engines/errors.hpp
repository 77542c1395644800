#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engines/adapter.hpp"
#include "fleet/outcome.hpp"

namespace evenkeel::engines {

/// The outcome class of a whole answer by its status and, where engines say different things with one status,
/// by its words (at most the first 4 KiB of `body_or_prefix` are looked at, only for statuses from 500 up).
///   below 400             completed
///   408, 429              back_pressure
///   424 of TGI            worker_fault (generation failed); other 4xx client_fault
///   503, 529              back_pressure if the words say full, busy or overloaded; else worker_fault: the
///   engine is
///                         loading, dead, draining or scaling, and nothing sent there now is served
///   5xx over the context  client_fault: the prompt is at fault, every worker would answer the same, and it
///   must not
///                         eject one after another (seen with vLLM)
///   other 5xx             worker_fault
[[nodiscard]] fleet::Outcome classify_answer(Kind kind, int status, std::string_view body_or_prefix);

/// An error that an engine sent where an answer belongs: as an SSE event after a 200, or as a JSON body.
struct ErrorEvent {
  int status = 500;     ///< 400..599, to be fed to classify_answer and shown if nothing was sent yet
  std::string message;  ///< "" if it gave none
};

/// Reads the shapes {"error":{...}}, {"object":"error",...}, {"error":"...","error_type":"..."},
/// {"type":"error",...} and a response.failed event; `"error":null` is none. The status is the code (a
/// number, or digits in a string) or TGI's http_status_code if that is 400..599, else what the type or a code
/// in words means, else 500; TGI's streamed 422 for overload and for failed generation become 429 and 424.
/// Without the bytes `"error"` in `data` it costs one search.
[[nodiscard]] std::optional<ErrorEvent> read_error_event(std::string_view data);

/// Whether an error (whole body, or data of an event) blames the data-parallel rank that the request was addressed
/// to: out of range, not active. Its message begins with the rank's name, data_parallel_rank of vLLM or routed_dp_rank
/// of SGLang; anywhere else the words may be a client's own.
[[nodiscard]] bool refuses_rank(std::string_view data);

}  // namespace evenkeel::engines
