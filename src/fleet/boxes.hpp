#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::fleet {

/// An engine by its rate table: as many slots as there are rates, and tokens_per_s[k - 1] tokens a second in all with k
/// requests running, each of which advances alike. Without rates: a router alone, which hosts nothing.
struct Box {
  std::vector<double> tokens_per_s;

  [[nodiscard]] std::size_t slots() const { return tokens_per_s.size(); }
};

inline constexpr std::size_t most_box_slots = 1024;
inline constexpr double least_box_rate = 0.001;
inline constexpr double most_box_rate = 1e6;

/// "18.18,50.71": rates by commas, in tokens a second with one, two, ... requests running; "-" for a box that hosts
/// nothing. Errors say what is allowed.
[[nodiscard]] Result<Box> parse_box(std::string_view text);

/// Seconds until a box has served `requests` of `tokens` each that come at once: first come first served into its
/// slots. By events, exact. Infinite for a box that hosts nothing and is asked to.
[[nodiscard]] double makespan_s(const Box& box, std::int64_t requests, double tokens);

struct Split {
  std::vector<std::int64_t> requests;  ///< by box
  double tokens_per_s = 0;             ///< of the whole burst, if each box gets its part at once
};

/// The best of all ways to divide `requests` of `tokens` each among the boxes. Exact, as it looks at every division of
/// every number among the first so many boxes: O(boxes * requests^2).
[[nodiscard]] Split best_split(std::span<const Box> boxes, std::int64_t requests, double tokens);

/// Tokens a second of a division that is given: the ceiling for whoever divides so.
[[nodiscard]] double ceiling_of(std::span<const Box> boxes, std::span<const std::int64_t> requests, double tokens);

/// A request as a box sees it.
struct BoxRequest {
  double at_s = 0;  ///< when it comes
  double tokens = 0;
};

/// When a box has served what comes to it at any times and of any size, in the order given, which is that of at_s;
/// 0 for nothing. Exact; O(n log slots). Infinite as above.
[[nodiscard]] double last_end_s(const Box& box, std::span<const BoxRequest> requests);

/// A time before which no division of the requests (in order of at_s) can end: what comes at or after any moment waits
/// for all boxes together at their best rates, as if requests could be cut. O(n).
[[nodiscard]] double earliest_end_s(std::span<const Box> boxes, std::span<const BoxRequest> requests);

}  // namespace evenkeel::fleet
