#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fleet/outcome.hpp"

namespace evenkeel::workload {

using fleet::TokenSource;

/// Nothing for a word that names none.
[[nodiscard]] std::optional<TokenSource> token_source_named(std::string_view word);

/// One request as the access log tells it; never bodies, never keys. The texts are views: whoever fills the
/// record keeps the bytes alive until it is written, and a record that was read lives until the reader's next
/// line.
struct AccessLogRecord {
  std::int64_t ts = 0;              ///< arrival, Unix time in ms
  std::string_view id;              ///< the request's X-Request-Id
  std::string_view model;           ///< as the client named it
  std::string_view worker;          ///< the last worker tried; empty if none
  std::string_view prefill_worker;  ///< likewise, where prefill and decode are on separate workers
  std::string_view from_peer;       ///< the peer that forwarded it here; empty: a client
  std::string_view client;          ///< whom fairness counts it for
  std::string_view endpoint;        ///< path without query
  bool stream = false;
  std::string_view outcome;  ///< outcome class
  int status = 0;            ///< HTTP status sent to the client; 0 if none was
  std::string_view reason;   ///< what made the outcome, a short word
  std::string_view refusal;  ///< of the closed list of refusals; empty if not refused
  std::int64_t prompt_tokens = 0;
  TokenSource prompt_tokens_from = TokenSource::none;
  std::int64_t output_tokens = 0;
  TokenSource output_tokens_from = TokenSource::none;
  double queue_ms = 0;                  ///< in the waiting pool
  std::optional<double> first_byte_ms;  ///< arrival to first byte of the answer's body; absent if none came
  std::optional<double> prefill_ms;     ///< at prefill workers; absent if at none
  double total_ms = 0;                  ///< arrival to the last byte, or to the end
  std::int64_t bytes_in = 0;            ///< request body
  std::int64_t bytes_out = 0;           ///< response body
  // The route receipt.
  std::string_view policy;
  std::string_view route_reason;
  std::string_view route;       ///< why here or at a peer; empty where there are none
  std::string_view candidates;  ///< how many and how scored, as in the receipt's header
  double waited_ms = 0;
  std::optional<double> signal_age_ms;  ///< absent if no signal was used
  int attempt = 0;                      ///< 1 for the first; 0 if none was made
  // Of prefix caches.
  std::optional<std::int64_t> expected_hit_tokens;  ///< absent if nothing was known
  std::optional<std::int64_t> cached_tokens;        ///< as the engine told; absent if it did not
  std::string_view scarcest;                        ///< resource of the worker, by the redline; empty: it was off
  std::optional<double> headroom;                   ///< share of it that was left, this request placed
};

/// Appends one JSON object and a line feed. Allocates only as `out` grows. Bytes that are not UTF-8 become
/// U+FFFD, times that are not finite become 0; everything else reads back equal.
void append_access_log_line(std::string& out, const AccessLogRecord& record);

/// Reads lines of an access log. Keys it does not know are passed over, so that a newer minor writer can be
/// read; keys that are missing keep their default, except "v", "ts" and "model". Not thread-safe.
class AccessLogReader {
 public:
  AccessLogReader();
  ~AccessLogReader();
  AccessLogReader(AccessLogReader&&) noexcept;
  AccessLogReader& operator=(AccessLogReader&&) noexcept;

  /// The record's views live until the next call. The error names the field and what is allowed there.
  [[nodiscard]] Result<AccessLogRecord> read(std::string_view line);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace evenkeel::workload
