#include "affinity/block_chain.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::affinity {
namespace {

std::vector<ChainHash> of_text(std::string_view text, std::size_t block, std::uint64_t seed = 1) {
  std::vector<ChainHash> chain;
  append_text_chain(text, block, seed, chain);
  return chain;
}

std::vector<ChainHash> of_ids(std::vector<std::uint64_t> ids, std::uint64_t seed = 1) {
  std::vector<ChainHash> chain;
  append_id_chain(ids, seed, chain);
  return chain;
}

TEST(BlockChain, OnlyWholeLinksHaveAHash) {
  EXPECT_EQ(of_text("", 4).size(), 0U);
  EXPECT_EQ(of_text("abc", 4).size(), 0U);
  EXPECT_EQ(of_text("abcd", 4).size(), 1U);
  EXPECT_EQ(of_text("abcdefgh!", 4).size(), 2U);
  EXPECT_EQ(of_ids({7, 8, 9}).size(), 3U);
}

TEST(BlockChain, OfPartsIsThatOfTheTextTheyMakeWhereverTheyAreCut) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text(random.below(20'000), ' ');
    for (char& c : text) c = static_cast<char>('a' + random.below(26));
    std::vector<std::string_view> parts;
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(parts.back().size())) {
      const std::size_t size = random.below(3) == 0 ? random.below(3) : random.below(6000);
      parts.push_back(rest.substr(0, size));
    }
    const std::size_t block = 1 + random.below(500);
    std::vector<ChainHash> chain;
    append_text_chain(parts, block, 1, chain);
    ASSERT_EQ(chain, of_text(text, block)) << round;
  }
}

TEST(BlockChain, ALinkCoversTwiceAsManyBlocksInEachDoublingBehindThe64th) {
  std::size_t covered = 0;
  for (std::size_t link = 0; link < 300; ++link) {
    EXPECT_EQ(chain_blocks(link), covered);
    std::size_t expected = 1;
    for (std::size_t doubling = 64; doubling <= covered; doubling *= 2) expected *= 2;
    EXPECT_EQ(link_blocks(link), expected) << link;
    covered += expected;
  }
  EXPECT_EQ(of_text(std::string(127, 'x'), 1).size(), 64U + 31U);
  EXPECT_EQ(of_text(std::string(128 + 4 + 3, 'x'), 1).size(), 64U + 32U + 1U);
  EXPECT_EQ(of_text(std::string(1 << 20, 'x'), 256).size(), 256U);
}

TEST(BlockChain, HashesAreEqualAsFarAsTheTextsAreAndNeverAgain) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    std::string one(4096, ' ');
    for (char& each : one) each = static_cast<char>('a' + random.below(26));
    std::string other = one;
    const std::size_t at = random.below(one.size());
    other[at] = '!';
    const auto a = of_text(one, 16);
    const auto b = of_text(other, 16);
    for (std::size_t link = 0; link < a.size(); ++link) {
      EXPECT_EQ(a[link] == b[link], chain_blocks(link + 1) <= at / 16) << "link " << link << ", difference at " << at;
    }
  }
}

TEST(BlockChain, TheSameBlockElsewhereOrUnderAnotherSeedHasAnotherHash) {
  const auto chain = of_text(std::string(64, 'x'), 8);
  EXPECT_EQ(std::set<ChainHash>(chain.begin(), chain.end()).size(), chain.size());
  const auto ids = of_ids({3, 3, 3, 3, 3, 0, 0, 0});
  EXPECT_EQ(std::set<ChainHash>(ids.begin(), ids.end()).size(), ids.size());
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NE(chain[i], of_text(std::string(64, 'x'), 8, 2)[i]);
    EXPECT_NE(ids[i], of_ids({3, 3, 3, 3, 3, 0, 0, 0}, 2)[i]);
  }
}

TEST(BlockChain, AppendsBehindWhatIsThere) {
  std::vector<ChainHash> chain = {42};
  append_text_chain("abcd", 4, 1, chain);
  append_id_chain(std::vector<std::uint64_t>{1}, 1, chain);
  ASSERT_EQ(chain.size(), 3U);
  EXPECT_EQ(chain[0], 42U);
  EXPECT_EQ(chain[1], of_text("abcd", 4)[0]);
  EXPECT_EQ(chain[2], of_ids({1})[0]);
}

}  // namespace
}  // namespace evenkeel::affinity
