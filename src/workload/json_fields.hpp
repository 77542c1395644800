#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "workload/line_reader.hpp"

namespace evenkeel::workload {

/// Fields of one JSON object of a line. As with CsvReader, a bad field notes a fault with the lines and gives
/// 0, so that a reader asks for all it wants and looks once.
class JsonFields {
 public:
  JsonFields(LineReader& lines, simdjson::dom::object object) : lines_(lines), object_(object) {}

  [[nodiscard]] bool has(std::string_view key) const {
    simdjson::dom::element value;
    return object_[key].get(value) == simdjson::SUCCESS;
  }
  [[nodiscard]] std::int64_t whole(std::string_view key, std::int64_t least, std::int64_t most) const {
    std::int64_t value = 0;
    if (object_[key].get(value) == simdjson::SUCCESS && value >= least && value <= most) return value;
    reject(key, fmt::format("a whole number from {} to {}", least, most));
    return 0;
  }
  [[nodiscard]] double number(std::string_view key, double least, double most) const {
    double value = 0;
    if (object_[key].get(value) == simdjson::SUCCESS && value >= least && value <= most) return value;
    reject(key, fmt::format("a number from {} to {}", least, most));
    return 0;
  }
  /// As number(), but 0 if the key is absent or null.
  [[nodiscard]] double number_or_0(std::string_view key, double least, double most) const {
    simdjson::dom::element value;
    const bool absent = object_[key].get(value) != simdjson::SUCCESS || value.is_null();
    return absent ? 0 : number(key, least, most);
  }
  [[nodiscard]] std::string_view text(std::string_view key) const {
    std::string_view value;
    if (object_[key].get(value) != simdjson::SUCCESS) reject(key, "a text");
    return value;
  }
  /// Empty if it is none.
  [[nodiscard]] simdjson::dom::array array(std::string_view key) const {
    static simdjson::dom::parser parser;
    static const simdjson::dom::array empty = parser.parse(std::string("[]")).get_array();
    simdjson::dom::array value;
    if (object_[key].get(value) == simdjson::SUCCESS) return value;
    reject(key, "a list");
    return empty;
  }
  /// Calls take(value) for each of a list, in order; false, and no more of them, at the first that is not allowed.
  template <class Take>
  bool each_whole(std::string_view key, std::int64_t least, std::int64_t most, Take take) const {
    return each<std::int64_t>(key, "whole numbers", least, most, take);
  }
  template <class Take>
  bool each_number(std::string_view key, double least, double most, Take take) const {
    return each<double>(key, "numbers", least, most, take);
  }
  void reject(std::string_view key, std::string_view allowed) const {
    simdjson::dom::element found;
    if (object_[key].get(found) != simdjson::SUCCESS) {
      lines_.reject(fmt::format("field \"{}\" is missing; allowed: {}", key, allowed));
      return;
    }
    constexpr std::size_t shown = 60;
    const std::string text = simdjson::minify(found);
    lines_.reject(fmt::format("field \"{}\" is {}; allowed: {}", key, text.substr(0, shown), allowed));
  }

 private:
  template <class Value, class Take>
  bool each(std::string_view key, std::string_view kind, Value least, Value most, Take take) const {
    for (const auto element : array(key)) {
      Value value = 0;
      if (element.get(value) != simdjson::SUCCESS || value < least || value > most) {
        reject(key, fmt::format("a list of {} from {} to {}", kind, least, most));
        return false;
      }
      take(value);
    }
    return true;
  }

  LineReader& lines_;
  simdjson::dom::object object_;
};

/// The line as an object; notes a fault and gives nothing useful if it is none.
[[nodiscard]] inline JsonFields parse_object(LineReader& lines, simdjson::dom::parser& parser) {
  simdjson::dom::object object;
  const auto line = lines.line();
  if (const auto code = parser.parse(line.data(), line.size()).get(object); code != simdjson::SUCCESS) {
    lines.reject(fmt::format("not a JSON object: {}", simdjson::error_message(code)));
  }
  return {lines, object};
}

}  // namespace evenkeel::workload
