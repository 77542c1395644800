#include "workload/prompt_maker.hpp"

#include <algorithm>
#include <string_view>

#include "base/random.hpp"

namespace evenkeel::workload {

namespace {

/// Syllables of two letters: 16 consonants times 4 vowels.
constexpr std::string_view consonants = "bdfghjklmnprstvz";
constexpr std::string_view vowels = "aeio";

/// One word out of 27 random bits: one to four syllables. Those of two and three come most often, so that a
/// token has about five letters.
void append_word(std::string& out, std::uint64_t bits) {
  if (!out.empty()) out += ' ';
  const std::uint64_t length = (bits & 7U) == 0 ? 1 : (bits & 7U) < 4 ? 2 : (bits & 7U) < 7 ? 3 : 4;
  bits >>= 3U;
  for (std::uint64_t i = 0; i < length; ++i, bits >>= 6U) {
    out += consonants[bits & 15U];
    out += vowels[(bits >> 4U) & 3U];
  }
}

void append_words(std::string& out, std::int64_t count, std::uint64_t stream) {
  Random random(stream);
  for (std::int64_t i = 0; i < count; ++i) append_word(out, random.next() >> 20U);
}

}  // namespace

void PromptMaker::append_unique(std::string& out, Tokens tokens, std::uint64_t key) const {
  append_words(out, tokens.value(), mix64(seed_ ^ mix64(key)));
}

std::string PromptMaker::text(const Trace& trace, RequestIndex place) const {
  const TraceRequest& request = trace.requests[place];
  std::int64_t left = request.prompt_tokens.value();
  std::string out;
  out.reserve(static_cast<std::size_t>(left) * 7);
  for (const auto id : trace.prefix_blocks(request)) {
    if (left == 0) break;
    const std::int64_t words = std::min<std::int64_t>(left, request.prefix_block_size);
    // Another block size is another tokenisation: the same id then stands for another block.
    append_words(out, words, mix64(mix64(seed_ + request.prefix_block_size) ^ id));
    left -= words;
  }
  append_unique(out, Tokens(left), ~std::uint64_t{place});
  return out;
}

}  // namespace evenkeel::workload
