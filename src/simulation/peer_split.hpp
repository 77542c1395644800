#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "simulation/bounds.hpp"

namespace evenkeel::simulation {

/// A box: a router with an engine of as many slots as there are rates, which makes tokens_per_s[k - 1] tokens a second
/// in all with k requests running (engine::RateLaw). Without rates: a router alone, which hosts nothing.
struct Box {
  std::vector<double> tokens_per_s;

  [[nodiscard]] std::size_t slots() const { return tokens_per_s.size(); }
};

namespace bounds {
inline constexpr Whole boxes{1, 9};  ///< a request can be kept from eight workers
inline constexpr Whole box_slots{1, 1024};
inline constexpr Real box_rate{0.001, 1e6};
inline constexpr Whole burst{1, 2048};
inline constexpr Whole burst_tokens{1, 100'000};
}  // namespace bounds

/// "18.18,50.71;49.24,87.82": boxes by semicolons, their rates by commas; "-" for one that hosts nothing. Errors name
/// the box and what is allowed.
[[nodiscard]] Result<std::vector<Box>> parse_boxes(std::string_view text);

/// Seconds until a box has served `requests` of `tokens` each that come at once: first come first served into its
/// slots, each running one advancing alike. By events, exact. Infinite for a box that hosts nothing and is asked to.
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

}  // namespace evenkeel::simulation
