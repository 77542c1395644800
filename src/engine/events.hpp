#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace evenkeel::engine {

/// Chosen by the caller; unique among the requests that one engine holds.
using RequestId = std::uint64_t;

enum class FinishReason : std::uint8_t { stop, length, abort };
inline constexpr std::size_t finish_reasons = 3;
/// The label an engine's metrics give it: stop, length, abort.
[[nodiscard]] std::string_view name_of(FinishReason reason);

/// What the beginning of a prompt has in common with others: a hash for each of its blocks of so many tokens, the last
/// perhaps cut, of that block and all before it. Prompts are equal as far as their hashes are; of tokens behind the
/// last block nobody else has the same.
struct PromptPrefix {
  std::vector<std::uint64_t> chain;
  std::int64_t block_tokens = 16;  ///< >= 1; need not be the engine's
  bool over_output = false;        ///< the hashes go on over what comes of the prompt
};

/// What the engine must know of a request. The output length is its fate, known here and to no policy.
struct EngineRequest {
  RequestId id = 0;
  Tokens prompt;  ///< >= 1 and below the model length
  Tokens output;  ///< >= 1; the engine produces exactly so many unless the model length cuts it short
  FinishReason ends_with = FinishReason::stop;  ///< stop, or length when a client's bound ends the output
  std::size_t rank = 0;                         ///< which rank of a group; 0 for a free-running engine
  std::uint64_t key = 0;  ///< of what is drawn for it (EngineConfig::decode_growth); 0: its id is the key
  std::shared_ptr<const PromptPrefix> prefix;  ///< for EngineConfig::prefix_cache; none: nothing in common
  /// The KV of its prompt lies at another engine. Once there is a slot and room for the prompt it holds its blocks and
  /// is `pulling`, until EngineModel::kv_arrived(). A StepLaw only, as is `keep_kv`.
  bool remote_kv = false;
  bool keep_kv = false;  ///< when it has finished its blocks stay held, until abort() of its id
};

/// One thing that happened. Events come in the order of their times; within one instant by rank, then in
/// the order of the rank's running set.
struct EngineEvent {
  enum class Kind : std::uint8_t {
    started,    ///< entered the running set; again after each preemption
    preempted,  ///< lost its KV and went back to the front of the queue; clients see only a pause
    tokens,     ///< `count` new output tokens; `first` on the first of the request
    finished,   ///< for `reason`; no event of this request follows
    pulling,    ///< has blocks for the KV of its prompt and waits for it
  };
  Kind kind = Kind::tokens;
  Time at;
  RequestId id = 0;
  Tokens count;  ///< of `started`: tokens found in the prefix cache
  bool first = false;
  FinishReason reason = FinishReason::stop;
};

/// What one rank does in one step: the arguments of the step law, and the time they would take it alone.
struct RankStep {
  Tokens new_tokens;           ///< tokens computed, prefill and decode
  Tokens kv_tokens;            ///< context read by the requests that decode
  double prefill_context = 0;  ///< sum over prefill chunks of new * (context before + new / 2), tokens squared
  std::int64_t requests = 0;   ///< requests taking part; 0 for a rank that only keeps the others company
  Duration alone{};            ///< own time; the step lasts as long as the longest of the group
};

struct StepReport {
  Time start;
  Time end;
  std::span<const RankStep> ranks;
  std::size_t first_rank = 0;  ///< which rank `ranks` begins with: not 0 only where ranks step by themselves
};

/// What one step brought one request.
struct Delivery {
  RequestId id = 0;
  std::int32_t count = 0;  ///< new output tokens, at least 1
  bool first = false;      ///< the first of the request are among them
  bool finished = false;   ///< for `reason`; nothing of this request follows
  FinishReason reason = FinishReason::stop;
};

/// Receives what happens. It must not call the engine that calls it: react after advance() returns.
class EngineSink {
 public:
  virtual ~EngineSink() = default;
  virtual void on_event(const EngineEvent& event) = 0;
  /// What a step of one rank brought, once a rank and step, in the order of its running set. Whoever does not override
  /// it is told the same as events; whoever does gets those of kind tokens and finished from rate tables only.
  virtual void on_deliveries(Time at, std::span<const Delivery> deliveries);
  /// A step has ended; what it brought follows. Engines under a rate table have no steps.
  virtual void on_step(const StepReport& report) { static_cast<void>(report); }
};

}  // namespace evenkeel::engine
