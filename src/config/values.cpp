#include "config/values.hpp"

#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t size;
};
constexpr std::array<Unit, 6> durations = {{{"ns", 1},
                                            {"us", 1'000},
                                            {"ms", 1'000'000},
                                            {"s", 1'000'000'000},
                                            {"m", 60'000'000'000},
                                            {"h", 3'600'000'000'000}}};
constexpr std::array<Unit, 7> sizes = {{{"B", 1},
                                        {"kB", 1'000},
                                        {"MB", 1'000'000},
                                        {"GB", 1'000'000'000},
                                        {"KiB", 1LL << 10U},
                                        {"MiB", 1LL << 20U},
                                        {"GiB", 1LL << 30U}}};

/// Number and unit as a whole count of the smallest unit; nothing if it is none or does not fit.
std::optional<std::int64_t> parse(std::string_view text, std::span<const Unit> units, std::int64_t bare_unit) {
  text = trim(text);
  const auto split_at = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, split_at);
  const std::string_view unit = split_at == std::string_view::npos ? "" : trim(text.substr(split_at));
  std::int64_t size = unit.empty() ? bare_unit : 0;
  for (const Unit& known : units) {
    if (unit == known.name) size = known.size;
  }
  if (size == 0) return std::nullopt;
  if (const auto whole = parse_unsigned(number)) {  // exact over the whole range
    if (*whole > static_cast<std::uint64_t>(INT64_MAX / size)) return std::nullopt;
    return static_cast<std::int64_t>(*whole) * size;
  }
  const auto value = parse_double(number);
  if (!value) return std::nullopt;
  const double count = *value * static_cast<double>(size);
  constexpr double exact_integers_end = 9007199254740992.0;  // 2^53
  const double rounded = std::round(count);
  if (count > exact_integers_end || std::abs(count - rounded) > 1e-9 * (1 + rounded)) return std::nullopt;
  return static_cast<std::int64_t>(rounded);
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  const auto nanoseconds = parse(text, durations, 1'000'000'000);
  return nanoseconds ? std::optional(Duration(*nanoseconds)) : std::nullopt;
}

std::string format_duration(Duration duration) {
  const std::int64_t count = duration.count();
  if (const Unit& hour = durations[5]; count != 0 && count % hour.size == 0)
    return fmt::format("{}h", count / hour.size);
  for (const Unit& unit : {durations[3], durations[2], durations[1]}) {
    if (count % unit.size == 0) return fmt::format("{}{}", count / unit.size, unit.name);
  }
  return fmt::format("{}ns", count);
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto count = parse(text, sizes, 1);
  return count ? std::optional(Bytes(*count)) : std::nullopt;
}

std::string format_bytes(Bytes bytes) {
  const std::int64_t count = bytes.value();
  for (const Unit& unit : {sizes[6], sizes[5], sizes[4]}) {
    if (count != 0 && count % unit.size == 0) return fmt::format("{}{}", count / unit.size, unit.name);
  }
  return fmt::format("{}B", count);
}

}  // namespace evenkeel::config
