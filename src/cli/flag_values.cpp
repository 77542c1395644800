#include "cli/flag_values.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace evenkeel::cli {

namespace {

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Number, class Parse>
CLI::Validator within(simulation::Bounds<Number> bounds, std::string_view kind, Parse parse) {
  const std::string allowed = fmt::format("{} to {}", bounds.low, bounds.high);
  const auto check = [bounds, parse, wanted = fmt::format("{} from {}", kind, allowed)](std::string& given) {
    const std::optional<Number> value = parse(given);
    if (value && bounds.holds(*value)) return std::string();
    return fmt::format("\"{}\"; allowed: {}", given, wanted);
  };
  return CLI::Validator(check, allowed);
}

}  // namespace

CLI::Validator whole(simulation::Whole bounds) { return within(bounds, "whole numbers", parse_whole); }

CLI::Validator real(simulation::Real bounds) { return within(bounds, "numbers", parse_double); }

CLI::Validator text() {
  const auto check = [](std::string& given) {
    return given.empty() ? std::string("\"\"; allowed: anything but an empty text") : std::string();
  };
  return CLI::Validator(check, "");
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string allowed = fmt::format("{}", fmt::join(words, ", "));
  const auto check = [words = std::move(words), allowed](std::string& given) {
    const bool known = std::ranges::find(words, given) != words.end();
    return known ? std::string() : fmt::format("\"{}\"; allowed: {}", given, allowed);
  };
  return CLI::Validator(check, allowed);
}

}  // namespace evenkeel::cli
