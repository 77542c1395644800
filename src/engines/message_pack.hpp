#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace evenkeel::engines {

/// One value at a time of a MessagePack text that is whole. Containers are told by their number of items, which follow;
/// no more are believed than there are bytes left, so that whoever reserves by it reserves no more than was sent.
class MessagePackReader {
 public:
  explicit MessagePackReader(std::string_view bytes) : left_(bytes) {}

  enum class Type : std::uint8_t { nil, boolean, integer, number, text, bytes, list, map, extension };
  struct Value {
    Type type = Type::nil;
    bool negative = false;   ///< of an integer: `bits` is its two's complement
    std::uint64_t bits = 0;  ///< of an integer or boolean
    double number = 0;       ///< of a number, an integer included
    std::string_view text;   ///< of a text, bytes or an extension
    std::size_t items = 0;   ///< of a list, or pairs of a map

    [[nodiscard]] bool is_unsigned() const { return type == Type::integer && !negative; }
  };
  [[nodiscard]] Result<Value> next();
  /// The rest of a value that next() just gave: what is in it, if it is a container. At most 32 deep.
  [[nodiscard]] Result<void> skip_inside(const Value& of);
  [[nodiscard]] bool at_end() const { return left_.empty(); }
  /// What is still to be read.
  [[nodiscard]] std::string_view left() const { return left_; }

 private:
  [[nodiscard]] Result<void> skip(const Value& of, int depth);
  std::string_view left_;
};

/// "a list", "nil" and so on, for errors.
[[nodiscard]] std::string_view name_of(MessagePackReader::Type type);

}  // namespace evenkeel::engines
