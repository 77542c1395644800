#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evenkeel::load {

/// A stretch in which a request produced all its tokens at one worker.
struct Served {
  double begin_s = 0;
  double end_s = 0;
  double tokens = 0;
};

inline constexpr std::size_t most_measured_slots = 64;

/// Tokens a second of a worker with one, two, ... requests running, from what it served: of each request it is known
/// how long it ran at which level and how many tokens it made in all, which by least squares gives what one of k makes
/// in a second (exact for a worker whose requests advance alike). A level that took less than a hundredth of the busy
/// time is not told: nothing. Empty if nothing was served or more than most_measured_slots ran together. O(n log n + n
/// slots), and slots^2 of memory.
[[nodiscard]] std::vector<std::optional<double>> rates_by_level(std::span<const Served> served);

}  // namespace evenkeel::load
