#pragma once

#include <cstddef>
#include <span>

#include "base/error.hpp"
#include "base/random.hpp"

namespace evenkeel::maths {

/// Whether values may come from a law with one peak: Silverman's test (1981). The critical bandwidth is the least with
/// which a Gaussian kernel estimate has one peak; its p-value the share of samples drawn from that estimate (with the
/// values' variance) that need more. It is on the careful side: under one peak fewer than p of the samples have a
/// p-value under p.
struct Modality {
  double critical_bandwidth = 0;  ///< in the values' unit
  double p_value = 1;             ///< small: more than one peak
  std::size_t samples = 0;        ///< looked at, at most modality_sample

  [[nodiscard]] bool one_peak() const { return p_value >= 0.05; }
};

inline constexpr std::size_t least_modality_sample = 50;
inline constexpr std::size_t modality_sample = 5000;  ///< of longer inputs so many are drawn

/// Of durations hand over logarithms: on a linear scale the longer peaks of a heavy tail are too flat to be seen.
/// Refused: under least_modality_sample values, values not finite, all equal. 200 samples over a grid of 512 places:
/// about 50 ms.
[[nodiscard]] Result<Modality> modality(std::span<const double> values, Random& random);

}  // namespace evenkeel::maths
