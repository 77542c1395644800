#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "emulator/api_error.hpp"

namespace evenkeel::emulator {

/// The fields of a JSON object. A key given twice: the last counts, as in Python's parser and so in vLLM.
/// null is as good as absent. The first field of a wrong kind is noted; look at fault() once everything was
/// asked for. Views live as long as the parser's document.
class JsonBody {
 public:
  using Element = simdjson::dom::element;

  [[nodiscard]] static tl::expected<JsonBody, ApiError> parse(simdjson::dom::parser& parser, std::string_view body);
  explicit JsonBody(simdjson::dom::object object);

  [[nodiscard]] std::optional<Element> find(std::string_view key) const;
  [[nodiscard]] bool flag(std::string_view key);
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view key, std::int64_t least, std::int64_t most);
  [[nodiscard]] std::optional<double> number(std::string_view key, double least, double most);
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key);
  [[nodiscard]] const std::vector<std::pair<std::string_view, Element>>& fields() const { return fields_; }

  void reject(std::string_view key, std::string_view wanted);
  [[nodiscard]] const std::optional<ApiError>& fault() const { return fault_; }

 private:
  std::vector<std::pair<std::string_view, Element>> fields_;
  std::optional<ApiError> fault_;
};

/// A whole number, also when written 16.0.
[[nodiscard]] std::optional<std::int64_t> whole_of(simdjson::dom::element element);

}  // namespace evenkeel::emulator
