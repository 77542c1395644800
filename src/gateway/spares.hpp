#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "http/message.hpp"

namespace evenkeel::gateway {

/// Strings and field lists with room in them, lent to the requests of one shard and given back, so that a request in
/// steady state allocates none. Keeps at most 512 strings of at most 4 KiB. For the shard's thread.
class Spares {
 public:
  [[nodiscard]] std::string string() { return count_ == 0 ? std::string() : std::move(strings_[--count_]); }

  /// `string` is as new afterwards.
  void give(std::string& string) {
    if (string.capacity() <= most && string.capacity() >= least && count_ < strings_.size()) {
      string.clear();
      std::swap(strings_[count_++], string);
    } else {
      std::string().swap(string);
    }
  }

  /// Lends a parser a list of fields before its head, and takes one back when nothing needs the head's fields anymore.
  void lend_fields(http::MessageParser& parser) { parser.swap_fields(fields_); }
  void take_fields(http::MessageParser& parser) {
    parser.swap_fields(fields_);
    fields_.clear();
  }

 private:
  static constexpr std::size_t least = 24;  // below lies what a string holds in itself
  static constexpr std::size_t most = 4096;
  std::array<std::string, 512> strings_;
  std::size_t count_ = 0;
  std::vector<http::Field> fields_;  // always empty
};

}  // namespace evenkeel::gateway
