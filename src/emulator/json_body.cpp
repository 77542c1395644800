#include "emulator/json_body.hpp"

#include <cmath>
#include <ranges>

#include <fmt/format.h>

namespace evenkeel::emulator {

std::optional<std::int64_t> whole_of(simdjson::dom::element element) {
  std::int64_t value = 0;
  if (element.get(value) == simdjson::SUCCESS) return value;
  double real = 0;
  if (!element.is_double() || element.get(real) != simdjson::SUCCESS) return std::nullopt;
  if (std::trunc(real) != real || std::abs(real) > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

tl::expected<JsonBody, ApiError> JsonBody::parse(simdjson::dom::parser& parser, std::string_view body) {
  simdjson::dom::element root;
  if (const auto code = parser.parse(body.data(), body.size()).get(root); code != simdjson::SUCCESS) {
    return tl::unexpected(schema_error(fmt::format("JSON decode error: {}", simdjson::error_message(code))));
  }
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    return tl::unexpected(schema_error("the body must be a JSON object"));
  }
  return JsonBody(object);
}

JsonBody::JsonBody(simdjson::dom::object object) {
  for (const auto field : object) fields_.emplace_back(field.key, field.value);
}

std::optional<JsonBody::Element> JsonBody::find(std::string_view key) const {
  for (const auto& [name, value] : std::views::reverse(fields_)) {
    if (name == key) return value.is_null() ? std::nullopt : std::optional(value);
  }
  return std::nullopt;
}

bool JsonBody::flag(std::string_view key) {
  const auto element = find(key);
  if (!element) return false;
  bool value = false;
  if (element->get(value) != simdjson::SUCCESS) reject(key, "true or false");
  return value;
}

std::optional<std::int64_t> JsonBody::whole(std::string_view key, std::int64_t least, std::int64_t most) {
  const auto element = find(key);
  if (!element) return std::nullopt;
  const auto value = whole_of(*element);
  if (value && *value >= least && *value <= most) return value;
  reject(key, fmt::format("a whole number from {} to {}", least, most));
  return std::nullopt;
}

std::optional<double> JsonBody::number(std::string_view key, double least, double most) {
  const auto element = find(key);
  if (!element) return std::nullopt;
  double value = 0;
  if (element->get(value) == simdjson::SUCCESS && value >= least && value <= most) return value;
  reject(key, fmt::format("a number from {} to {}", least, most));
  return std::nullopt;
}

std::optional<std::string_view> JsonBody::text(std::string_view key) {
  const auto element = find(key);
  if (!element) return std::nullopt;
  std::string_view value;
  if (element->get(value) == simdjson::SUCCESS) return value;
  reject(key, "a text");
  return std::nullopt;
}

void JsonBody::reject(std::string_view key, std::string_view wanted) {
  if (fault_) return;
  constexpr std::size_t shown = 60;
  const auto found = find(key);
  const std::string what = found ? simdjson::minify(*found).substr(0, shown) : "missing";
  fault_ = schema_error(fmt::format("field \"{}\" is {}; wanted: {}", key, what, wanted), std::string(key));
}

}  // namespace evenkeel::emulator
