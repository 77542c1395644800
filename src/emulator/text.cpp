#include "emulator/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/random.hpp"

namespace evenkeel::emulator {
namespace {

// Sorted, so that a word is found by bisection; 128, so that seven bits choose one.
constexpr std::array<std::string_view, 128> words = {
    " able",  " above", " after", " air",   " all",    " and",    " answer", " arm",   " ask",   " at",      " back",
    " ball",  " bank",  " base",  " beam",  " bell",   " best",   " bird",   " blue",  " boat",  " body",    " book",
    " both",  " bow",   " bread", " brook", " build",  " but",    " call",   " calm",  " can",   " care",    " change",
    " chart", " child", " city",  " clear", " cloud",  " coast",  " cold",   " come",  " crew",  " current", " day",
    " deck",  " deep",  " door",  " draw",  " drift",  " each",   " early",  " earth", " east",  " even",    " eye",
    " far",   " field", " fire",  " fish",  " flow",   " follow", " for",    " form",  " from",  " full",    " give",
    " glass", " go",    " good",  " grain", " green",  " hand",   " harbor", " head",  " hear",  " hill",    " hold",
    " home",  " hour",  " hull",  " in",    " island", " keel",   " keep",   " know",  " lake",  " land",    " large",
    " leaf",  " level", " light", " line",  " long",   " look",   " make",   " mast",  " mile",  " moon",    " morning",
    " near",  " night", " north", " of",    " open",   " over",   " path",   " plan",  " quiet", " rain",    " reach",
    " river", " rock",  " rope",  " sail",  " sea",    " ship",   " shore",  " sky",   " slow",  " south",   " star",
    " stone", " tide",  " turn",  " water", " wave",   " west",   " wind"};
static_assert(std::ranges::is_sorted(words));

/// Ids below are left to what a real vocabulary keeps for itself.
constexpr std::int64_t first_word_id = 1000;
constexpr std::int64_t first_hashed_id = 4096;

constexpr std::uint64_t fnv_prime = 0x100000001b3ULL;
constexpr std::uint64_t fnv_begin = 0xcbf29ce484222325ULL;

constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::uint64_t hash_of_bytes(std::string_view bytes) {
  std::uint64_t hash = fnv_begin;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * fnv_prime;
  return hash;
}

constexpr auto garbled_word = static_cast<std::size_t>(std::ranges::find(words, " drift") - words.begin());

std::size_t word_index(std::uint64_t key, std::int64_t k) {
  if (key == garbled_text) return garbled_word;
  return static_cast<std::size_t>(mix64(key + static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15ULL) >> 57U);
}

}  // namespace

TokenChain::TokenChain(std::int64_t block_tokens, std::string_view salt)
    : block_tokens_(block_tokens), hash_(mix64(hash_of_bytes(salt))) {}

void TokenChain::add(std::uint64_t token) {
  if (block_tokens_ == 0) return;
  tokens_.push_back(static_cast<std::uint32_t>(token));
  hash_ = mix64(hash_ ^ mix64(token + 1));
  if (++in_block_ < block_tokens_) return;
  in_block_ = 0;
  links_.push_back(hash_);
}

void PromptReader::mix(std::string_view bytes) {
  for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * fnv_prime;
  hash_ = (hash_ ^ 0x100U) * fnv_prime;  // a border, which no byte can be
}

void PromptReader::text(std::string_view piece) {
  mix(piece);
  for (std::size_t at = 0; at < piece.size();) {
    if (is_blank(piece[at])) {
      ++at;
      continue;
    }
    const std::size_t start = at;
    while (at < piece.size() && !is_blank(piece[at])) ++at;
    word(piece.substr(start, at - start));
  }
}

void PromptReader::word(std::string_view word) {
  ++tokens_;
  if (!keep_ids_ && !chain_.on()) return;
  const std::int64_t id = id_of_word(word);
  if (keep_ids_) ids_.push_back(id);
  chain_.add(static_cast<std::uint64_t>(id));
}

void PromptReader::id(std::int64_t token) {
  hash_ = mix64(hash_ ^ static_cast<std::uint64_t>(token));
  ++tokens_;
  if (keep_ids_) ids_.push_back(token);
  chain_.add(static_cast<std::uint64_t>(token));
}

void PromptReader::other(std::string_view what, std::int64_t tokens) {
  mix(what);
  tokens_ += tokens;
  if (keep_ids_) ids_.insert(ids_.end(), static_cast<std::size_t>(tokens), 0);
  // In place of ids: two images are not alike.
  const std::uint64_t hash = chain_.on() ? hash_of_bytes(what) : 0;
  for (std::int64_t k = 0; k < tokens && chain_.on(); ++k) chain_.add(hash);
}

std::uint64_t PromptReader::hash() const { return mix64(hash_); }

std::string_view output_word(std::uint64_t key, std::int64_t k) { return words[word_index(key, k)]; }

std::int64_t output_id(std::uint64_t key, std::int64_t k) {
  return first_word_id + static_cast<std::int64_t>(word_index(key, k));
}

std::int64_t id_of_word(std::string_view word) {
  const auto* found = std::ranges::lower_bound(words, word, {}, [](std::string_view w) { return w.substr(1); });
  if (found != words.end() && found->substr(1) == word) return first_word_id + (found - words.begin());
  constexpr auto range = static_cast<std::uint64_t>(vocabulary_size - first_hashed_id);
  return first_hashed_id + static_cast<std::int64_t>(mix64(hash_of_bytes(word)) % range);
}

std::string text_of_id(std::int64_t id) {
  const std::int64_t place = id - first_word_id;
  if (place >= 0 && place < static_cast<std::int64_t>(words.size())) {
    return std::string(words[static_cast<std::size_t>(place)]);
  }
  return fmt::format(" t{}", id);
}

}  // namespace evenkeel::emulator
