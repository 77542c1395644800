#include "planning/observation.hpp"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace evenkeel::planning {

namespace {

/// Values up to which sums and squares of them stay exact enough.
constexpr double largest = 1e9;

struct Field {
  std::string_view name;
  double value;
  double low;
  double high;
};

}  // namespace

Result<void> FitOptions::check() const {
  const Field fields[] = {
      {"window_s", window_s, 1e-3, largest},
      {"heavy_tokens", heavy_tokens, 0, largest},
      {"context_tokens", context_tokens, 0, largest},
      {"token_s", token_s, 0, 1e3},
      {"kv_bytes", kv_bytes, 0, 1e12},
      {"smoothing", smoothing, 1e-6, 1},
  };
  for (const auto& [name, value, low, high] : fields) {
    if (!(value >= low && value <= high)) {
      return failure(fmt::format("{} is {}; allowed: {} to {}", name, value, low, high));
    }
  }
  return {};
}

Result<void> check(std::span<const Observation> observations) {
  if (observations.empty()) return failure("no request");
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const auto& seen = observations[i];
    const Field fields[] = {
        {"arrival", seen.arrival_s, 0, largest},           {"prompt tokens", seen.prompt_tokens, 0, largest},
        {"output tokens", seen.output_tokens, 0, largest}, {"duration", seen.duration_s, 0, largest},
        {"decode time", seen.decode_s, 0, largest},
    };
    for (const auto& [name, value, low, high] : fields) {
      if (!(value >= low && value <= high)) {
        return failure(fmt::format("request {}: {} is {}; allowed: {} to {}", i + 1, name, value, low, high));
      }
    }
  }
  return {};
}

std::vector<Observation> heavy_ones(std::span<const Observation> observations, const FitOptions& options) {
  std::vector<Observation> heavy;
  for (auto seen : observations) {
    if (seen.output_tokens < options.heavy_tokens || seen.output_tokens < 1) continue;
    const bool full = options.context_tokens > 0 && seen.prompt_tokens + seen.output_tokens >= options.context_tokens;
    seen.ended = seen.ended && !full;
    heavy.push_back(seen);
  }
  return heavy;
}

}  // namespace evenkeel::planning
