#include "gateway/prompt_key.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::gateway {
namespace {

std::string text_of(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + random.below(26));
  return text;
}

TEST(PromptKey, TheSamePromptHasTheSameKeyWhereverItLies) {
  for (const std::size_t size : {0U, 1U, 7U, 15U, 16U, 17U, 127U, 128U, 129U, 1000U, 65536U}) {
    const std::string text = text_of(size, size + 1);
    const std::string shifted = "x" + text;
    EXPECT_EQ(prompt_key(text, 9), prompt_key(std::string_view(shifted).substr(1), 9)) << size;
    EXPECT_NE(prompt_key(text, 9), 0U);
  }
}

TEST(PromptKey, EveryByteOfAShortPromptCounts) {
  for (const std::size_t size : {1U, 8U, 15U, 16U, 17U, 31U, 64U, 100U, 127U, 128U}) {
    const std::string text = text_of(size, size);
    std::set<std::uint64_t> keys = {prompt_key(text, 9)};
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ 1);
      EXPECT_TRUE(keys.insert(prompt_key(other, 9)).second) << size << " at " << at;
    }
  }
}

TEST(PromptKey, OfALongPromptItsLengthAndItsEndsCount) {
  const std::string text = text_of(5000, 1);
  const std::uint64_t key = prompt_key(text, 9);
  EXPECT_NE(prompt_key(text + "a", 9), key);
  EXPECT_NE(prompt_key(text_of(4999, 1), 9), key);
  for (const std::size_t at : {0U, 15U, 4984U, 4999U}) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_NE(prompt_key(other, 9), key) << at;
  }
}

TEST(PromptKey, DiffersBetweenSalts) {
  const std::string text = text_of(300, 1);
  EXPECT_NE(prompt_key(text, 9), prompt_key(text, 10));
  EXPECT_NE(prompt_key("", 9), prompt_key(std::string(1, '\0'), 9)) << "padding is no text";
}

TEST(PromptKey, DifferentPromptsHaveDifferentKeys) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::string text = R"([{"role":"user","content":"question )" + std::to_string(i) + R"("}])";
    keys.insert(prompt_key(text, 77));
  }
  EXPECT_EQ(keys.size(), 100'000U);
}

}  // namespace
}  // namespace evenkeel::gateway
