#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "engine/events.hpp"

namespace evenkeel::engine {

/// Time of one step of one rank, in milliseconds:
///   fixed + token * new tokens + kv_token * KV tokens read by decodes + prefill_context * sum of
///   new * (context before + new / 2) over prefill chunks.
/// A linear law fits measured step times of continuous batching to a few percent (Vidur, Agrawal et al. 2024;
/// Splitwise, Patel et al. 2024); the quadratic term is the attention of a chunk over what precedes it.
struct StepLaw {
  double fixed_ms = 0;            ///< [0.001, 60000]
  double token_ms = 0;            ///< [0, 1000]
  double kv_token_ms = 0;         ///< [0, 1]
  double prefill_context_ms = 0;  ///< [0, 0.001]
  /// Prompts arrive with their KV (a decode worker behind prefill workers): the first step of a request
  /// is a decode over its prompt. A preempted request is still recomputed here.
  bool prompt_kv_given = false;

  /// At least 1 ns, at most 10^6 s. `speed` divides the time.
  [[nodiscard]] Duration time_of(const RankStep& step, double speed) const;
};

/// Fluid law: with k requests running the engine makes tokens_per_s[k - 1] tokens a second in total (the
/// last entry for more), shared evenly, and prompts cost nothing. KV fills in the gauge but limits nothing.
struct RateLaw {
  std::vector<double> tokens_per_s;  ///< 1 to 65536 entries, each in [0.001, 10^9]

  /// Of one request among `running` (>= 1).
  [[nodiscard]] double tokens_per_s_each(std::int64_t running) const;
};

/// One engine, or one group of ranks that share every step. The counts are per rank.
struct EngineConfig {
  std::variant<StepLaw, RateLaw> law = StepLaw{.fixed_ms = 10, .token_ms = 0.05, .kv_token_ms = 1e-4};
  std::int64_t slots = 256;               ///< most requests running at once, 1 to 65536
  std::int64_t step_token_budget = 8192;  ///< most tokens computed in a step, slots to 2^20
  Tokens kv_capacity{400'000};            ///< usable by requests, up to 2^32; rounded down to whole blocks
  std::int64_t block_size = 16;           ///< tokens a KV block, 1 to 4096
  Tokens max_model_length{0};             ///< prompt and output together; 0 = what the KV cache holds
  /// A request is admitted only if its whole remaining prompt fits into free blocks (vLLM since March
  /// 2026). Off: only its first chunk must fit.
  bool admit_whole_prompt = true;
  /// Speculative decoding: a decode step of a request yields 1 to so many tokens, equally likely, drawn by a hash of
  /// the request's key and age, and as many are computed and kept. 1 to 16; 1 = none. A StepLaw only.
  std::int64_t decode_growth = 1;
  /// Full blocks stay findable by what they hold until they are needed for something else, and a request takes what it
  /// begins with from there instead of computing it (vLLM's automatic prefix caching); its last token is always
  /// computed. Needs a StepLaw whose prompts do not bring their KV, and at most 2^31 - 1 blocks.
  bool prefix_cache = false;
  std::int64_t queue_limit = 1'000'000;  ///< requests waiting, 1 to 10^7; engines themselves know no limit

  std::size_t ranks = 1;  ///< 1 runs free; more share each step, 1 to 1024
  /// Relative speed of each rank, in [0.001, 1000]; empty: all 1.
  std::vector<double> rank_speeds;
  /// A group looks only every so many steps whether all its ranks are idle and it may pause (vLLM: 32).
  std::int64_t pause_check_steps = 32;  ///< 1 to 4096; no effect on a free-running engine

  [[nodiscard]] std::int64_t usable_blocks() const { return kv_capacity.value() / block_size; }
  /// As the engine tells it: one more than usable, the reserved null block.
  [[nodiscard]] std::int64_t total_blocks() const { return usable_blocks() + 1; }
  [[nodiscard]] Tokens model_length() const {
    return max_model_length.value() > 0 ? max_model_length : Tokens(usable_blocks() * block_size);
  }
};

/// The first setting that is out of bounds or contradicts another, by field name, with what is allowed.
[[nodiscard]] Result<void> validate(const EngineConfig& config);

}  // namespace evenkeel::engine
