#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/random.hpp"

namespace evenkeel::emulator {

/// What an emulated engine is told to do wrong. All act at once, on what is in progress too, until cleared;
/// /emulator/ itself is never touched.
struct Faults {
  bool refuse = false;  ///< every connection is reset once its request head is read, nothing answered
  /// No connection is accepted (the kernel refuses) for so long; counts from when it is set, then clears
  /// itself.
  std::int64_t unlisten_ms = 0;                  ///< 0 to 600000
  bool stall = false;                            ///< the engine takes requests and makes no progress
  std::optional<std::int64_t> die_after_tokens;  ///< a request's connection is reset after so many output tokens
  /// A stream ends cleanly after so many tokens, or after its last, without its true end; a plain answer ends
  /// cleanly in the middle of its JSON.
  std::optional<std::int64_t> truncate_after_tokens;
  std::optional<int> status;  ///< inference requests are answered with this, 400 to 599
  double status_probability = 1;
  std::optional<std::int64_t> status_count;  ///< so many times, then no more
  double drop_probability = 0;               ///< an inference request's connection is reset before any answer
  std::uint64_t seed = 1;                    ///< of the draws for both probabilities; a change restarts them
  bool error_event_first = false;     ///< a stream is 200, and its first event an error; a plain answer is the error
  int health_status = 200;            ///< of /health: 200 or 500 to 599
  std::int64_t metrics_delay_ms = 0;  ///< before /metrics answers, 0 to 600000
  std::int64_t gauge_lag_ms = 0;      ///< /metrics shows the engine as it was so long ago, 0 to 600000
  std::int64_t kv_drop_batches = 0;   ///< so many more batches of KV events of each rank are lost on their way
  bool kv_silent = false;             ///< KV events are held back
  bool kv_no_replay = false;          ///< a replay of KV events is not answered
  bool ignore_rank_header = false;    ///< whatever rank a request names, the engine balances by itself

  [[nodiscard]] bool operator==(const Faults&) const = default;
};

/// `faults` with the keys of a JSON object replaced (null: back to its default). Unknown keys are refused by
/// name.
[[nodiscard]] Result<Faults> change_faults(const Faults& faults, std::string_view json);
[[nodiscard]] std::string faults_json(const Faults& faults);

/// The faults in force, with the state of their draws and counts.
class FaultBox {
 public:
  [[nodiscard]] const Faults& now() const { return faults_; }
  void set(const Faults& faults);

  enum class Verdict : std::uint8_t { serve, drop, fail };
  /// For one inference request; counts and draws.
  struct Draw {
    Verdict verdict = Verdict::serve;
    int status = 200;
  };
  [[nodiscard]] Draw draw();

 private:
  Faults faults_;
  Random random_{1};
};

}  // namespace evenkeel::emulator
