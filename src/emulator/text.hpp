#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::emulator {

/// The emulator's tokenizer: a token is a word (what blanks separate), so that a test can count on its
/// fingers.

/// What a prefix cache knows a row of tokens by: at the end of each whole block a hash of all tokens so far and of the
/// salt, as the block hashes of vLLM.
class TokenChain {
 public:
  TokenChain() = default;  ///< of nothing: add() does nothing
  explicit TokenChain(std::int64_t block_tokens, std::string_view salt = {});
  void add(std::uint64_t token);
  [[nodiscard]] const std::vector<std::uint64_t>& links() const { return links_; }
  /// Those that are no word's (of an image) cut to 32 bits.
  [[nodiscard]] std::vector<std::uint32_t> take_tokens() { return std::move(tokens_); }
  [[nodiscard]] bool on() const { return block_tokens_ > 0; }
  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }

 private:
  std::int64_t block_tokens_ = 0;
  std::int64_t in_block_ = 0;
  std::uint64_t hash_ = 0;
  std::vector<std::uint64_t> links_;
  std::vector<std::uint32_t> tokens_;
};

/// What is wanted of a prompt beyond its count and its hash.
struct PromptReading {
  bool keep_ids = false;          ///< the token ids
  std::int64_t block_tokens = 0;  ///< its chain in blocks of so many tokens; 0: none
  std::string_view salt{};        ///< of the chain
};

/// Reads a prompt piece by piece: how many tokens, and a hash of all that tells prompts apart.
class PromptReader {
 public:
  explicit PromptReader(const PromptReading& wanted = {})
      : keep_ids_(wanted.keep_ids), chain_(wanted.block_tokens, wanted.salt) {}

  void text(std::string_view piece);
  void id(std::int64_t token);
  /// Something that is no text (an image, a sound): worth `tokens`.
  void other(std::string_view what, std::int64_t tokens);

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::uint64_t hash() const;
  [[nodiscard]] std::vector<std::int64_t> take_ids() { return std::move(ids_); }
  [[nodiscard]] TokenChain take_chain() { return std::move(chain_); }

 private:
  void mix(std::string_view bytes);
  void word(std::string_view word);

  bool keep_ids_;
  TokenChain chain_;
  std::int64_t tokens_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;  // FNV-1a
  std::vector<std::int64_t> ids_;
};

/// Largest token id plus one.
inline constexpr std::int64_t vocabulary_size = 131072;

/// The key of a text that says one word, " drift", again and again: what comes of KV that was another's.
inline constexpr std::uint64_t garbled_text = 0x676172626c656400ULL;

/// Token `k` of the text named by `key`: a word with a blank before it, of 2 to 9 bytes. O(1), no allocation.
[[nodiscard]] std::string_view output_word(std::uint64_t key, std::int64_t k);
[[nodiscard]] std::int64_t output_id(std::uint64_t key, std::int64_t k);

/// A word of our own list has a place in the vocabulary; any other word hashes into the rest of it.
[[nodiscard]] std::int64_t id_of_word(std::string_view word);
/// The word with a blank before it; an id that is no word of the list reads " t<id>".
[[nodiscard]] std::string text_of_id(std::int64_t id);

}  // namespace evenkeel::emulator
