#include "calibrate/options.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace evenkeel::calibrate {

namespace {

constexpr double day_s = 86400;
constexpr std::size_t most_steps = 64;

/// Also false of what is no number.
bool within(double value, double most) { return value > 0 && value <= most; }

tl::unexpected<Error> no_schedule(std::string_view found) {
  return failure(
      fmt::format("--schedule is \"{}\" (allowed: at most {} whole numbers from 1 to {}, ascending, such as "
                  "1,2,4,8)",
                  found, most_steps, highest_level));
}

}  // namespace

Result<void> validate(const Options& options) {
  if (!within(options.ttft_bound_s, day_s)) {
    return failure(fmt::format("--ttft-bound-s is {} (allowed: over 0 to 86400)", options.ttft_bound_s));
  }
  const auto& levels = options.schedule;
  const bool ascending = std::ranges::adjacent_find(levels, std::greater_equal<>()) == levels.end();
  if (levels.empty() || levels.size() > most_steps || !ascending || levels.front() < 1 ||
      levels.back() > highest_level) {
    return no_schedule(fmt::format("{}", fmt::join(levels, ",")).substr(0, 200));
  }
  if (!within(options.min_relative_gain, 10)) {
    return failure(fmt::format("--min-relative-gain is {} (allowed: over 0 to 10)", options.min_relative_gain));
  }
  if (options.max_tokens < 1 || options.max_tokens > 65536) {
    return failure(fmt::format("--max-tokens is {} (allowed: 1 to 65536)", options.max_tokens));
  }
  if (!within(options.timeout_s, day_s)) {
    return failure(fmt::format("--timeout is {} (allowed: over 0 to 86400)", options.timeout_s));
  }
  return {};
}

Result<std::vector<std::int64_t>> parse_schedule(std::string_view text) {
  std::vector<std::int64_t> levels;
  for (const std::string_view word : split(text, ',')) {
    const auto level = parse_unsigned(trim(word));
    if (!level || *level > static_cast<std::uint64_t>(highest_level) || levels.size() >= most_steps) {
      return no_schedule(text.substr(0, 200));
    }
    levels.push_back(static_cast<std::int64_t>(*level));
  }
  return levels;
}

}  // namespace evenkeel::calibrate
