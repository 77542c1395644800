#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::engines {

/// MessagePack by hand, in the largest forms there are: for tests of what reads it.
class Packed {
 public:
  Packed& list(std::size_t items) { return tagged('\xDD', items, 4); }
  Packed& number(std::uint64_t value) { return tagged('\xCF', value, 8); }
  Packed& nil() { return raw("\xC0"); }
  Packed& text(std::string_view text) { return tagged('\xDB', text.size(), 4).raw(text); }
  template <class Items>
  Packed& numbers(const Items& items) {
    list(items.size());
    for (const auto item : items) number(item);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  Packed& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  Packed& tagged(char tag, std::uint64_t value, int width) {
    bytes_ += tag;
    for (int i = width - 1; i >= 0; --i) bytes_ += static_cast<char>(value >> (8 * i) & 255U);
    return *this;
  }
  std::string bytes_;
};

}  // namespace evenkeel::engines
