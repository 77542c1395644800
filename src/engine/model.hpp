#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "engine/config.hpp"
#include "engine/events.hpp"

namespace evenkeel::engine {

enum class SubmitOutcome : std::uint8_t {
  accepted,
  duplicate_id,     ///< the engine holds a request of this id
  empty_prompt,     ///< prompt < 1 token
  empty_output,     ///< output < 1 token
  prompt_too_long,  ///< leaves no room for one output token within the model length
  no_such_rank,
  queue_full,
};
[[nodiscard]] std::string_view describe(SubmitOutcome outcome);

/// What an engine publishes of a rank. Taken when a step of the rank ends and not in between, so an idle
/// engine keeps showing its last step (as vLLM does). Under a rate table: taken at every start and token.
struct EngineGauges {
  std::int64_t running = 0;
  std::int64_t waiting = 0;   ///< those that pull included
  std::int64_t deferred = 0;  ///< of them pull
  double kv_usage = 0;        ///< used blocks over usable blocks, 0 to 1
  Tokens prompt_tokens;       ///< counted when a prompt's first token appears, once a request
  Tokens generation_tokens;   ///< output tokens delivered
  std::int64_t preemptions = 0;
  /// Of a prefix cache: tokens of the requests that looked into it, once a request, and tokens found.
  Tokens prefix_queries;
  Tokens prefix_hits;
  std::array<std::int64_t, finish_reasons> finished{};  ///< by FinishReason

  [[nodiscard]] std::int64_t finished_by(FinishReason reason) const {
    return finished[static_cast<std::size_t>(reason)];
  }
};

/// The true state of a rank at this moment; what a perfect observer would see.
struct EngineBooks {
  std::int64_t running = 0;
  std::int64_t waiting = 0;  ///< those that pull included
  std::int64_t pulling = 0;
  std::int64_t used_blocks = 0;  ///< a block that several requests share counts once
  std::int64_t kept_blocks = 0;  ///< of requests that have ended (EngineRequest::keep_kv)
  Tokens kv_tokens;  ///< tokens whose KV is computed and held by those that run; shared ones for each of them
};

/// How an LLM engine behaves, in virtual time: no socket, thread, clock or random source; the same calls
/// give the same events. Not thread-safe.
///
/// The driver's loop:
///   t = next_event(); advance(t, sink); react to what the sink saw with submit() and abort() at t; repeat.
/// The end of a step and the start of the next are two events at one instant. advance(t) stops after an
/// end at t, so what the driver submits or aborts at t takes part in the step that starts at t.
/// Calls come in the order of time, and before submit(now) or abort(now) everything due before `now` must
/// have been taken by advance(now).
class EngineModel {
 public:
  virtual ~EngineModel() = default;

  /// Joins the end of the queue. A running step is not changed. O(1).
  [[nodiscard]] virtual SubmitOutcome submit(Time now, const EngineRequest& request) = 0;
  /// Ends a request at once: its blocks are free, no event of it follows, a token being computed is thrown
  /// away; or frees what a finished one keeps. false: no such request (it may have finished). O(requests held).
  virtual bool abort(Time now, RequestId id) = 0;
  /// The KV that a request is pulling has come whole, and the next step can go on from it; or has not, and its prompt
  /// is computed here. false: no such request, or it does not pull.
  virtual bool kv_arrived(Time now, RequestId id, bool whole) {
    static_cast<void>(now), static_cast<void>(id), static_cast<void>(whole);
    return false;
  }
  /// When advance() will next have something to do; nothing if the engine is idle.
  [[nodiscard]] virtual std::optional<Time> next_event() const = 0;
  /// Does everything due up to `now`. A step costs O(running); no allocation a token.
  virtual void advance(Time now, EngineSink& sink) = 0;

  [[nodiscard]] virtual std::size_t ranks() const = 0;
  /// `rank` must be below ranks(), here and below.
  [[nodiscard]] virtual const EngineGauges& gauges(std::size_t rank) const = 0;
  [[nodiscard]] virtual EngineBooks books(std::size_t rank) const = 0;
  /// Recounts the books from scratch; the error names the first that does not balance. O(requests held).
  [[nodiscard]] virtual Result<void> check() const = 0;
};

/// Error: what validate() says.
[[nodiscard]] Result<std::unique_ptr<EngineModel>> make_engine(const EngineConfig& config);

/// How far a request will get: the model length may cut its output short.
struct Fate {
  std::int64_t output = 0;
  FinishReason reason = FinishReason::stop;
};
/// Whether a request is one that this engine can serve, apart from ids and queue.
[[nodiscard]] SubmitOutcome judge(const EngineConfig& config, const EngineRequest& request);
[[nodiscard]] Fate fate_of(const EngineConfig& config, const EngineRequest& request);

}  // namespace evenkeel::engine
