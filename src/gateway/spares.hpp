#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "affinity/block_chain.hpp"
#include "http/message.hpp"

namespace evenkeel::gateway {

/// Strings and field lists with room in them, lent to the requests of one shard and given back, so that a request in
/// steady state allocates none and writes where the caches are warm: last in, first out. Keeps at most 512 strings of
/// up to 16 KiB, 512 short ones, 256 lists and 64 chains. For the shard's thread.
class Spares {
 public:
  /// An empty string with room for a head or a small body.
  [[nodiscard]] std::string string() { return take(strings_); }
  /// The same for an id or a name: what is held long holds little.
  [[nodiscard]] std::string short_string() { return take(short_); }

  /// `string` is as new afterwards.
  void give(std::string& string) {
    const std::size_t room = string.capacity();
    if (room > longest || room < shortest) return std::string().swap(string);
    Stack& stack = room <= short_longest ? short_ : strings_;
    if (stack.count == stack.kept.size()) return std::string().swap(string);
    string.clear();
    stack.kept[stack.count++] = std::move(string);
  }

  /// For what a prompt begins with.
  [[nodiscard]] std::shared_ptr<affinity::PromptChain> chain() {
    if (chains_count_ == 0) return std::make_shared<affinity::PromptChain>();
    return std::move(chains_[--chains_count_]);
  }
  /// Kept only if nobody else holds it: the dispatcher lets go of a request before its verdict is told.
  void give(std::shared_ptr<affinity::PromptChain>& chain) {
    if (chain != nullptr && chain.use_count() == 1 && chains_count_ < chains_.size()) {
      chains_[chains_count_++] = std::move(chain);
    }
    chain.reset();
  }

  /// Lends a parser a list of fields before its head, and takes it back when nothing needs the head's fields anymore.
  void lend_fields(http::MessageParser& parser) {
    if (lists_count_ > 0) parser.swap_fields(lists_[--lists_count_]);
  }
  void take_fields(http::MessageParser& parser) {
    if (lists_count_ == lists_.size()) return;
    auto& list = lists_[lists_count_++];
    parser.swap_fields(list);
    list.clear();
  }

 private:
  struct Stack {
    std::array<std::string, 512> kept;
    std::size_t count = 0;
  };
  static std::string take(Stack& from) { return from.count == 0 ? std::string() : std::move(from.kept[--from.count]); }

  static constexpr std::size_t shortest = 16;  // below lies what a string holds in itself
  static constexpr std::size_t short_longest = 160;
  static constexpr std::size_t longest = 16384;
  Stack strings_;
  Stack short_;
  std::array<std::vector<http::Field>, 256> lists_;  // each empty
  std::size_t lists_count_ = 0;
  std::array<std::shared_ptr<affinity::PromptChain>, 64> chains_;
  std::size_t chains_count_ = 0;
};

}  // namespace evenkeel::gateway
