#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "affinity/block_chain.hpp"
#include "base/random.hpp"

namespace evenkeel::affinity {

/// Hash of all tokens so far. It does not depend on how they are cut into blocks, so that chains over blocks of
/// different sizes can be read off one another.
class TokenHash {
 public:
  /// Of prompts to the model itself, or to an adapter (a hash of its name).
  explicit TokenHash(std::uint64_t adapter = 0) : hash_(mix64(adapter)) {}
  [[nodiscard]] static TokenHash resumed(ChainHash at) {
    TokenHash hash;
    hash.hash_ = at;
    return hash;
  }
  void add(std::uint64_t token) { hash_ = mix64(hash_ * 0xD6E8FEB86659FD93U + token + 1); }
  /// Never 0.
  [[nodiscard]] ChainHash value() const { return hash_ == 0 ? 1 : hash_; }

 private:
  std::uint64_t hash_;
};

/// A prompt whose tokens are known: the hash of all tokens up to the end of each `stride` of them.
struct TokenChain {
  std::uint32_t stride = 0;
  std::size_t tokens = 0;
  std::vector<ChainHash> hashes;
};

/// `stride` > 0. Some 3 ns a token.
[[nodiscard]] inline TokenChain token_chain(std::span<const std::uint32_t> tokens, std::uint32_t stride,
                                            std::uint64_t adapter = 0) {
  TokenChain chain{stride, tokens.size(), {}};
  chain.hashes.reserve(tokens.size() / stride);
  TokenHash hash(adapter);
  for (; tokens.size() >= stride; tokens = tokens.subspan(stride)) {
    for (const std::uint32_t token : tokens.first(stride)) hash.add(token);
    chain.hashes.push_back(hash.value());
  }
  return chain;
}

}  // namespace evenkeel::affinity
