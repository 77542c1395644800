#pragma once

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "base/error.hpp"

namespace evenkeel::simulation {

/// What a number of a setting may be, ends included: one place for whoever reads it and whoever checks it.
template <class Number>
struct Bounds {
  Number low;
  Number high;

  [[nodiscard]] constexpr bool holds(Number value) const { return value >= low && value <= high; }
  /// The error names the option and what is allowed. Not a number is outside.
  [[nodiscard]] Result<void> check(std::string_view option, Number value) const {
    if (holds(value)) return {};
    return failure(fmt::format("{} is {}: allowed are {} to {}", option, value, low, high));
  }
};
using Whole = Bounds<std::int64_t>;
using Real = Bounds<double>;

namespace bounds {

inline constexpr std::int64_t most_tokens = 10'000'000;
inline constexpr std::int64_t most_requests = 1'000'000'000'000;

inline constexpr Whole workers{1, 1024};
inline constexpr Whole slots{1, 65'536};
inline constexpr Real fixed_ms{0.001, 60'000};
inline constexpr Real token_us{0, 1000};
inline constexpr Real speed{0.001, 1000};
inline constexpr Whole kv_tokens{16, std::int64_t{1} << 32};
inline constexpr Whole kv_block{1, 4096};
inline constexpr Whole decode_growth{1, 16};

inline constexpr Whole longest{1, most_tokens};  ///< prompt or output
inline constexpr Whole classes{1, 1'000'000};
inline constexpr Real spread{0, 1};
inline constexpr Whole prefixes{1, 1'000'000};
inline constexpr Whole prefix_tokens{1, 1'000'000};
inline constexpr Real prefix_hot{1, 1e6};
inline constexpr Real rate_per_s{1e-6, 1e6};
inline constexpr Real utilisation{0.01, 2};
inline constexpr Real pool{0.001, 1000};
inline constexpr Whole waiting{1, 1'000'000};
inline constexpr Whole requests{0, most_requests};

inline constexpr Real time_scale{1e-6, 1e6};
inline constexpr Real seconds{0, 9e9};
inline constexpr Whole requests_of_trace{1, most_requests};
inline constexpr Whole least_output{0, most_tokens};

inline constexpr Whole overtake_cap{0, 1'000'000};
inline constexpr Real prompt_weight{1e-6, 100};
inline constexpr Real redline_level{0.501, 0.9999999};
inline constexpr Whole stale_steps{0, 10'000};
inline constexpr Whole plan_window{0, 1'000'000};

inline constexpr Whole steps{0, 1'000'000'000};
inline constexpr Whole seeds{1, 10'000};
inline constexpr Whole seed{1, 1'000'000'000'000'000'000};
inline constexpr Whole trials{1, 10'000'000};
inline constexpr Whole jobs{1, 1024};

}  // namespace bounds

}  // namespace evenkeel::simulation
