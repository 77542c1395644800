#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace evenkeel::gateway {

/// Appends the many short pieces of a message head to a string: one look at the room a piece, no call for a literal.
class HeadWriter {
 public:
  /// `room`: about what will be written; more is made if it does not suffice.
  HeadWriter(std::string& out, std::size_t room) : out_(out), at_(out.size()) { out_.resize(at_ + room); }
  HeadWriter(const HeadWriter&) = delete;
  HeadWriter& operator=(const HeadWriter&) = delete;
  ~HeadWriter() { out_.resize(at_); }

  [[gnu::always_inline]] HeadWriter& operator<<(std::string_view text) {
    if (text.empty()) return *this;
    if (out_.size() - at_ < text.size()) grow(text.size());
    std::memcpy(out_.data() + at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }

  HeadWriter& operator<<(std::uint64_t number) {
    constexpr std::size_t longest = 20;
    if (out_.size() - at_ < longest) grow(longest);
    char* const to = out_.data() + at_;
    if (number < 10) {
      *to = static_cast<char>('0' + number);
      ++at_;
    } else {
      at_ += static_cast<std::size_t>(std::to_chars(to, to + longest, number).ptr - to);
    }
    return *this;
  }

 private:
  [[gnu::noinline]] void grow(std::size_t more) { out_.resize(2 * out_.size() + more); }

  std::string& out_;
  std::size_t at_;
};

}  // namespace evenkeel::gateway
