#include "routing/spec.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace evenkeel::routing {

namespace {

/// Places of the commas of `text` that stand outside brackets, then its end. Nothing if brackets do not match.
Result<std::vector<std::size_t>> commas(std::string_view text) {
  std::vector<std::size_t> places;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == ']') {
      if (inside == (text[i] == '[')) return failure(fmt::format("policy \"{}\": the brackets do not match", text));
      inside = !inside;
    }
    if (text[i] == ',' && !inside) places.push_back(i);
  }
  if (inside) return failure(fmt::format("policy \"{}\": a bracket is not closed", text));
  places.push_back(text.size());
  return places;
}

}  // namespace

Result<PolicySpec> PolicySpec::parse(std::string_view text) {
  text = trim(text);
  PolicySpec spec;
  const std::size_t open = text.find('[');
  spec.name = trim(text.substr(0, open));
  if (open == std::string_view::npos) return spec;
  if (text.back() != ']')
    return failure(fmt::format("policy \"{}\": text after the brackets, or none that closes them", text));
  const std::string_view inside = trim(text.substr(open + 1, text.size() - open - 2));
  if (inside.empty()) return spec;
  for (const std::string_view part : split(inside, ',')) {
    const std::size_t equals = part.find('=');
    const std::string key(trim(part.substr(0, equals)));
    if (equals == std::string_view::npos || key.empty()) {
      return failure(fmt::format("policy \"{}\": \"{}\" is not key=value", spec.name, trim(part)));
    }
    const auto same = [&](const auto& given) { return given.first == key; };
    if (std::any_of(spec.parameters.begin(), spec.parameters.end(), same)) {
      return failure(fmt::format("policy \"{}\": {} is given twice", spec.name, key));
    }
    spec.parameters.emplace_back(key, trim(part.substr(equals + 1)));
  }
  return spec;
}

Result<std::vector<PolicySpec>> PolicySpec::parse_list(std::string_view text) {
  const auto places = commas(text);
  if (!places) return tl::unexpected(places.error());
  std::vector<PolicySpec> specs;
  std::size_t begin = 0;
  for (const std::size_t end : *places) {
    auto spec = parse(text.substr(begin, end - begin));
    if (!spec) return tl::unexpected(spec.error());
    specs.push_back(std::move(*spec));
    begin = end + 1;
  }
  return specs;
}

std::string PolicySpec::text() const {
  if (parameters.empty()) return name;
  std::vector<std::string> parts;
  for (const auto& [key, value] : parameters) parts.push_back(key + "=" + value);
  return fmt::format("{}[{}]", name, fmt::join(parts, ","));
}

const std::string* Parameters::find(std::string_view key) {
  keys_.push_back(key);
  for (std::size_t i = 0; i < spec_.parameters.size(); ++i) {
    if (spec_.parameters[i].first != key) continue;
    asked_[i] = true;
    return &spec_.parameters[i].second;
  }
  return nullptr;
}

void Parameters::wrong(std::string_view key, std::string_view value, std::string allowed) {
  if (!error_.empty()) return;
  error_ = fmt::format("policy \"{}\": {} is \"{}\" (allowed: {})", spec_.name, key, value, allowed);
}

double Parameters::number(std::string_view key, double fallback, double low, double high) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  const auto value = parse_double(*text);
  if (value && *value >= low && *value <= high) return *value;
  wrong(key, *text, fmt::format("{} to {}", low, high));
  return fallback;
}

std::int64_t Parameters::integer(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  const auto value = parse_double(*text);
  const bool whole = value && std::floor(*value) == *value;
  if (whole && *value >= static_cast<double>(low) && *value <= static_cast<double>(high)) {
    return static_cast<std::int64_t>(*value);
  }
  wrong(key, *text, fmt::format("whole numbers {} to {}", low, high));
  return fallback;
}

bool Parameters::flag(std::string_view key, bool fallback) {
  static constexpr std::string_view states[] = {"on", "off"};
  return word(key, fallback ? "on" : "off", states) == "on";
}

std::string_view Parameters::word(std::string_view key, std::string_view fallback,
                                  std::span<const std::string_view> allowed) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  const auto found = std::find(allowed.begin(), allowed.end(), *text);
  if (found != allowed.end()) return *found;
  wrong(key, *text, fmt::format("{}", fmt::join(allowed, ", ")));
  return fallback;
}

std::string_view Parameters::text(std::string_view key, std::string_view fallback) {
  const std::string* text = find(key);
  return text == nullptr ? fallback : std::string_view(*text);
}

Result<void> Parameters::finish() const {
  if (!error_.empty()) return failure(error_);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i]) continue;
    const std::string& key = spec_.parameters[i].first;
    if (keys_.empty()) return failure(fmt::format("policy \"{}\" has no parameter; {} is given", spec_.name, key));
    const auto near = nearest_name(key, keys_);
    return failure(fmt::format("policy \"{}\" has no parameter {}{} (allowed: {})", spec_.name, key,
                               near.empty() ? "" : fmt::format(", did you mean {}?", near), fmt::join(keys_, ", ")));
  }
  return {};
}

}  // namespace evenkeel::routing
