#include "planning/level.hpp"

#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::planning {

namespace {

constexpr double month_s = 365.25 / 12 * 86'400;

/// Two positive numbers around a separator.
struct Pair {
  double first;
  double second;
};

std::optional<Pair> pair_of(std::string_view text, char separator) {
  const auto parts = split(text, separator);
  if (parts.size() != 2) return std::nullopt;
  const auto first = parse_double(trim(parts[0]));
  const auto second = parse_double(trim(parts[1]));
  if (!first || !second || !(*first > 0) || !(*second > 0)) return std::nullopt;
  return Pair{*first, *second};
}

bool is_level(double value) { return value > 0 && value < 1; }

}  // namespace

Result<double> level_of_text(std::string_view text) {
  if (const auto number = parse_double(text); number && is_level(*number)) return *number;
  if (const auto pair = pair_of(text, '/'); pair && is_level(pair->first / pair->second)) {
    return pair->first / pair->second;
  }
  return failure(fmt::format("\"{}\"; allowed: numbers over 0 and under 1, also as a fraction (32/33)", text));
}

Result<double> level_of_cost_ratio(std::string_view text) {
  if (const auto pair = pair_of(text, ':')) {
    const double level = pair->first / (pair->first + pair->second);
    if (is_level(level)) return level;
  }
  return failure(fmt::format("\"{}\"; allowed: UNDER:OVER, two numbers over 0 (32:1)", text));
}

Result<double> level_of_breaches_per_month(double breaches, double window_s) {
  const double windows = month_s / window_s;
  const double level = 1 - breaches / windows;
  if (breaches > 0 && is_level(level)) return level;
  return failure(
      fmt::format("\"{}\"; allowed: numbers over 0 and under the {:.0f} windows of a month", breaches, windows));
}

double breaches_per_month(double level, double window_s) { return (1 - level) * month_s / window_s; }

}  // namespace evenkeel::planning
