#pragma once

#include <compare>
#include <cstdint>

namespace evenkeel {

/// A whole number of one kind of thing. Two kinds do not mix: Tokens + Bytes does not compile.
template <class Kind>
class Count {
 public:
  constexpr Count() = default;
  constexpr explicit Count(std::int64_t value) : value_(value) {}

  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  [[nodiscard]] constexpr double as_double() const { return static_cast<double>(value_); }

  constexpr Count& operator+=(Count other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Count& operator-=(Count other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Count operator+(Count a, Count b) { return Count(a.value_ + b.value_); }
  friend constexpr Count operator-(Count a, Count b) { return Count(a.value_ - b.value_); }
  friend constexpr Count operator*(Count a, std::int64_t factor) { return Count(a.value_ * factor); }
  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  std::int64_t value_ = 0;
};

using Tokens = Count<struct TokensKind>;
using Bytes = Count<struct BytesKind>;

}  // namespace evenkeel
