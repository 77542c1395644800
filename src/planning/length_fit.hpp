#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maths/modality.hpp"
#include "maths/tail_index.hpp"
#include "planning/estimate.hpp"
#include "planning/observation.hpp"

namespace evenkeel::planning {

/// How long heavy requests stay and what they hold.
struct LengthFit {
  Fitted prompt_tokens;  ///< mean
  Fitted output_tokens;  ///< mean, of those not cut off
  Fitted token_s;        ///< of an output token
  Fitted duration;       ///< mean, of those not cut off
  Fitted tail_index;
  Fitted prompt_gb;        ///< what a prompt holds, mean
  Fitted growth_gb_per_s;  ///< of a request in service
  Fitted window_gb;        ///< held at the end of a window by an arrival of the window that is still there, mean

  /// What the tail is told in: "s", where times are known or can be made of tokens, else "tokens".
  std::string_view unit = "tokens";
  std::optional<maths::TailSample> sample;
  std::optional<maths::TailFit> tail;
  std::optional<maths::Modality> peaks;  ///< of the logarithms of durations that ended
  std::size_t cut_off = 0;               ///< requests that would have gone on
  double cap = 0;  ///< in `unit`: where the context ends what has a mean prompt, at least the longest; 0: none
};

[[nodiscard]] LengthFit fit_lengths(std::span<const Observation> heavy, const FitOptions& options);

}  // namespace evenkeel::planning
