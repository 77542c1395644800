#include "engines/members.hpp"

namespace evenkeel::engines {

namespace ondemand = simdjson::ondemand;

simdjson::simdjson_result<std::string_view> bytes_of(ondemand::value value) {
  ondemand::json_type type{};
  if (const auto error = value.type().get(type)) return error;
  if (type == ondemand::json_type::object) {
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) return error;
    return object.raw_json();
  }
  if (type == ondemand::json_type::array) {
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) return error;
    return array.raw_json();
  }
  return value.raw_json_token();
}

std::string with_members(std::string_view object, std::string_view members) {
  const std::size_t end = object.rfind('}');
  const std::string_view before = object.substr(0, end);
  const std::size_t last = before.find_last_not_of(" \t\r\n");
  const bool first = last != std::string_view::npos && before[last] == '{';
  std::string out;
  out.reserve(object.size() + members.size() + 1);
  out += before;
  if (!first) out += ',';
  out += members;
  out += object.substr(end);
  return out;
}

}  // namespace evenkeel::engines
