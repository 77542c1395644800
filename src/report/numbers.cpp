#include "report/numbers.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/utf8.hpp"

namespace evenkeel::report {

namespace {

/// Three significant digits without an exponent and without trailing zeros; for 0.001 <= |value| < 1000.
std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.09995 ? 3 : 4;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

}  // namespace

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size < 999.5) return size != 0 && size < 0.001 ? fmt::format("{:.3g}", value) : three_digits(value);
  constexpr std::array<const char*, 4> suffixes = {"k", "M", "G", "T"};
  std::size_t step = 0;
  value /= 1000;
  while (step + 1 < suffixes.size() && std::abs(value) >= 999.5) {
    value /= 1000;
    ++step;
  }
  if (std::abs(value) >= 999.5) return fmt::format("{:.3g}T", value);
  return three_digits(value) + suffixes[step];
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  return fmt::format("{:.{}f}", value, decimals);
}

std::string percent(double share) {
  if (!std::isfinite(share)) return "-";
  return three_digits(share * 100) + " %";
}

std::string short_duration(Duration d) {
  if (d < Duration{}) return "-" + short_duration(-d);
  const double s = to_seconds(d);
  if (s < 0.9995e-6) return fmt::format("{} ns", d.count());
  if (s < 0.9995e-3) return three_digits(s * 1e6) + " \xC2\xB5s";
  if (s < 0.9995) return three_digits(s * 1e3) + " ms";
  if (s < 99.95) return three_digits(s) + " s";
  const auto whole = std::llround(s);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  const auto minutes = std::llround(s / 60);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string short_bytes(std::int64_t bytes) {
  if (bytes < 1024 && bytes > -1024) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 4> units = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= 1023.5) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", std::abs(value) < 999.5 ? three_digits(value) : fmt::format("{:.0f}", value),
                     units[unit]);
}

namespace {

struct Range {
  char32_t first;
  char32_t last;
};
constexpr std::array<Range, 6> zero_width = {
    {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};
constexpr std::array<Range, 9> double_width = {{{0x1100, 0x115F},
                                                {0x2E80, 0x303E},
                                                {0x3041, 0xA4CF},
                                                {0xAC00, 0xD7A3},
                                                {0xF900, 0xFAFF},
                                                {0xFE30, 0xFE6F},
                                                {0xFF00, 0xFF60},
                                                {0x1F300, 0x1FAFF},
                                                {0x20000, 0x3FFFD}}};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t c) {
  for (const auto& range : ranges) {
    if (c >= range.first && c <= range.last) return true;
  }
  return false;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const char32_t c = take_code_point(text);
    width += is_in(zero_width, c) ? 0 : is_in(double_width, c) ? 2 : 1;
  }
  return width;
}

}  // namespace evenkeel::report
