#include "engines/json.hpp"

namespace evenkeel::engines {

std::optional<simdjson::dom::element> member(simdjson::dom::element object, std::string_view name) {
  simdjson::dom::element found;
  if (!object.is_object() || object[name].get(found) != simdjson::SUCCESS) return std::nullopt;
  return found;
}

std::string_view text_member(simdjson::dom::element object, std::string_view name) {
  const auto found = member(object, name);
  std::string_view text;
  if (!found || found->get(text) != simdjson::SUCCESS) return {};
  return text;
}

std::optional<double> amount_member(simdjson::dom::element object, std::string_view name) {
  const auto found = member(object, name);
  double value = 0;
  if (!found || found->get(value) != simdjson::SUCCESS) return std::nullopt;
  constexpr double exact_integers_end = 9007199254740992.0;  // 2^53
  if (!(value >= 0 && value <= exact_integers_end)) return std::nullopt;
  return value;
}

}  // namespace evenkeel::engines
