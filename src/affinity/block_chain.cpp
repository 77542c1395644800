#include "affinity/block_chain.hpp"

#define XXH_INLINE_ALL  // links are short: a call would cost a good part of the hash
#include <xxhash.h>

#include "base/random.hpp"

namespace evenkeel::affinity {

namespace {

/// Parts of a text, taken from the front.
class Parts {
 public:
  explicit Parts(std::span<const std::string_view> parts) : next_(parts) {
    for (const std::string_view part : parts) left_ += part.size();
    advance();
  }
  [[nodiscard]] std::size_t left() const { return left_; }
  /// Hash of the next `bytes` bytes, of which so many must be left.
  ChainHash take(std::size_t bytes, ChainHash seed) {
    left_ -= bytes;
    if (bytes > front_.size()) return take_across(bytes, seed);
    const ChainHash hash = XXH3_64bits_withSeed(front_.data(), bytes, seed);
    front_.remove_prefix(bytes);
    advance();
    return hash;
  }

 private:
  ChainHash take_across(std::size_t bytes, ChainHash seed) {
    XXH3_state_t state;
    state.seed = 0;  // looked at by the reset, as is the next
    state.extSecret = nullptr;
    XXH3_64bits_reset_withSeed(&state, seed);
    while (bytes > 0) {
      const std::string_view piece = front_.substr(0, bytes);
      XXH3_64bits_update(&state, piece.data(), piece.size());
      bytes -= piece.size();
      front_.remove_prefix(piece.size());
      advance();
    }
    return XXH3_64bits_digest(&state);
  }
  void advance() {
    while (front_.empty() && !next_.empty()) {
      front_ = next_.front();
      next_ = next_.subspan(1);
    }
  }

  std::string_view front_;
  std::span<const std::string_view> next_;
  std::size_t left_ = 0;
};

}  // namespace

void append_text_chain(std::string_view text, std::size_t block_bytes, std::uint64_t seed,
                       std::vector<ChainHash>& chain) {
  append_text_chain(std::span(&text, 1), block_bytes, seed, chain);
}

void append_text_chain(std::span<const std::string_view> parts, std::size_t block_bytes, std::uint64_t seed,
                       std::vector<ChainHash>& chain) {
  Parts text(parts);
  ChainHash hash = mix64(seed);
  for (std::size_t link = 0; link_blocks(link) <= text.left() / block_bytes; ++link) {
    hash = text.take(link_blocks(link) * block_bytes, hash);
    chain.push_back(hash);
  }
}

void append_id_chain(std::span<const std::uint64_t> ids, std::uint64_t seed, std::vector<ChainHash>& chain) {
  ChainHash hash = mix64(seed);
  for (std::size_t link = 0; link_blocks(link) <= ids.size(); ++link) {
    for (const std::uint64_t id : ids.first(link_blocks(link))) hash = mix64(hash ^ mix64(id));
    chain.push_back(hash);
    ids = ids.subspan(link_blocks(link));
  }
}

}  // namespace evenkeel::affinity
