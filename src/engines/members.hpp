#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

namespace evenkeel::engines {

/// The bytes of a value, perhaps with blanks behind it.
[[nodiscard]] simdjson::simdjson_result<std::string_view> bytes_of(simdjson::ondemand::value value);

/// Calls take(key, bytes of the value) for each top-level member, in order. False if `json` is no object. Linear in its
/// length.
template <class Take>
[[nodiscard]] bool each_member(std::string_view json, Take take) {
  namespace ondemand = simdjson::ondemand;
  const simdjson::padded_string padded(json);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(padded).get(document) || document.get_object().get(object)) return false;
  for (auto member : object) {
    ondemand::field field;
    std::string_view key, bytes;
    if (std::move(member).get(field) || field.unescaped_key().get(key)) return false;
    if (bytes_of(field.value()).get(bytes)) return false;
    take(key, bytes);
  }
  return true;
}

/// `object`, a JSON object, byte for byte, with `members` (`"a":1,"b":2`) as its last. Of two members of one name
/// engines take the last.
[[nodiscard]] std::string with_members(std::string_view object, std::string_view members);

}  // namespace evenkeel::engines
