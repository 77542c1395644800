#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace evenkeel::calibrate {

inline constexpr std::int64_t highest_level = 1024;

struct Options {
  double ttft_bound_s = 0;  ///< must be given: what a first token may take, median; over 0 to 86400
  std::vector<std::int64_t> schedule = {1, 2, 4, 8, 16, 32};  ///< ascending, 1 to highest_level
  double min_relative_gain = 0.10;                            ///< over 0 to 10
  std::int64_t max_tokens = 128;                              ///< output tokens of a request, 1 to 65536
  double timeout_s = 300;                                     ///< of one request, over 0 to 86400
};

/// The first that is no such number, by its flag, with what is allowed.
[[nodiscard]] Result<void> validate(const Options& options);
/// "1,2,4". Bounds are for validate().
[[nodiscard]] Result<std::vector<std::int64_t>> parse_schedule(std::string_view text);

}  // namespace evenkeel::calibrate
