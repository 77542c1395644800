#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::planning {

/// One request as a log or a trace tells it.
struct Observation {
  static constexpr std::uint32_t no_worker = std::numeric_limits<std::uint32_t>::max();

  double arrival_s = 0;  ///< from the start of what was seen
  double prompt_tokens = 0;
  double output_tokens = 0;
  double duration_s = 0;             ///< on its worker; 0: not known
  double decode_s = 0;               ///< of that, after the first token; 0: not known
  bool ended = true;                 ///< false: cut off, so that it would have gone on
  std::uint32_t worker = no_worker;  ///< from 0
};

/// What a person says of a fleet that its requests do not tell.
struct FitOptions {
  double window_s = 90;       ///< counts are taken over windows of this length: the time to scale
  double heavy_tokens = 0;    ///< requests with fewer output tokens are not looked at
  double context_tokens = 0;  ///< prompt and output at which the engine cuts off; 0: no such cap
  double token_s = 0;         ///< of an output token; 0: from the durations, if they are known
  double kv_bytes = 0;        ///< KV cache a token; 0: not said
  std::uint32_t nodes = 0;    ///< workers; 0: those seen
  std::uint32_t tail_k = 0;   ///< values of the tail; 0: chosen by the data
  double smoothing = 0.25;    ///< weight of a window in the recent rate
  std::uint64_t seed = 1;     ///< of bootstraps and drawn samples

  /// The first fault, in words: which field, what it was, what is allowed.
  [[nodiscard]] Result<void> check() const;
};

/// Refuses what is not finite or under 0, an arrival over 1e9 s, and nothing at all.
[[nodiscard]] Result<void> check(std::span<const Observation> observations);

/// What the requests of at least `heavy_tokens` output tokens are, with those cut off by the context marked so.
[[nodiscard]] std::vector<Observation> heavy_ones(std::span<const Observation> observations, const FitOptions& options);

}  // namespace evenkeel::planning
