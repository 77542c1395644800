#pragma once

#include <simdjson.h>

#include <optional>
#include <string_view>

namespace evenkeel::engines {

/// Bodies over this are not parsed.
inline constexpr std::size_t max_json_bytes = 16U << 20U;

/// A parsed document and its storage. Nothing if the text is no JSON.
class Json {
 public:
  explicit Json(std::string_view text) {
    if (text.empty() || text.size() > max_json_bytes) return;
    good_ = parser_.parse(text.data(), text.size()).get(root_) == simdjson::SUCCESS;
  }
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  [[nodiscard]] std::optional<simdjson::dom::element> root() const {
    return good_ ? std::optional(root_) : std::nullopt;
  }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
  bool good_ = false;
};

/// The member of an object, nothing if it is none or has none. simdjson gives the first of two equal names.
[[nodiscard]] std::optional<simdjson::dom::element> member(simdjson::dom::element object, std::string_view name);
/// A string member, "" otherwise.
[[nodiscard]] std::string_view text_member(simdjson::dom::element object, std::string_view name);
/// A number member that can be an amount (finite, 0 to 2^53).
[[nodiscard]] std::optional<double> amount_member(simdjson::dom::element object, std::string_view name);

}  // namespace evenkeel::engines
