#include "calibrate/knee.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace evenkeel::calibrate {

namespace {
/// A gain that is the least in decimal numbers may fall short of it by rounding: 55 is 10 % over 50.
constexpr double rounding = 1e-9;
}  // namespace

std::string_view to_string(KneeReason reason) {
  constexpr std::array<std::string_view, 4> names = {"empty", "ttft_bound", "plateau", "top_of_ramp"};
  return names[static_cast<std::size_t>(reason)];
}

Knee find_knee(std::span<const LevelSample> samples, double ttft_bound_s, double min_relative_gain) {
  std::vector<LevelSample> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted, {}, &LevelSample::level);
  const LevelSample* accepted = nullptr;
  for (const LevelSample& sample : sorted) {
    const std::int64_t level = accepted == nullptr ? 0 : accepted->level;
    if (!(sample.ttft_s <= ttft_bound_s)) return {level, KneeReason::ttft_bound};
    if (accepted != nullptr && accepted->tokens_per_s > 0) {
      const double gain = sample.tokens_per_s / accepted->tokens_per_s - 1;
      if (!(gain >= min_relative_gain - rounding)) return {level, KneeReason::plateau};
    }
    accepted = &sample;
  }
  if (accepted == nullptr) return {};
  return {accepted->level, KneeReason::top_of_ramp};
}

}  // namespace evenkeel::calibrate
