#include "affinity/exact_index.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::affinity {
namespace {

using Ids = std::vector<std::uint32_t>;

Ids counting(std::uint32_t from, std::size_t count) {
  Ids ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = from + static_cast<std::uint32_t>(i);
  return ids;
}

std::size_t held(const ExactIndex& index, const Ids& prompt, std::uint32_t stride = 4, std::uint64_t adapter = 0) {
  return index.held_tokens(token_chain(prompt, stride, adapter));
}

TEST(ExactIndex, HoldsWhatWasStoredInWholeBlocks) {
  ExactIndex index(100);
  const std::vector<BlockName> row = {11, 12, 13};
  EXPECT_EQ(index.store(std::nullopt, row, counting(0, 12)), 3U);
  EXPECT_EQ(index.block_size(), 4U);
  EXPECT_EQ(held(index, counting(0, 12)), 12U);
  EXPECT_EQ(held(index, counting(0, 40)), 12U);
  EXPECT_EQ(held(index, counting(0, 11)), 8U) << "the third block is not whole in the prompt";
  EXPECT_EQ(held(index, counting(1, 12)), 0U);
  Ids turns = counting(0, 12);
  turns[5] = 99;
  EXPECT_EQ(held(index, turns), 4U);
}

TEST(ExactIndex, ARowGoesOnFromItsParentByTheEnginesName) {
  ExactIndex index(100);
  (void)index.store(std::nullopt, std::vector<BlockName>{11}, counting(0, 4));
  EXPECT_EQ(index.store(11, std::vector<BlockName>{12, 13}, counting(4, 8)), 2U);
  EXPECT_EQ(held(index, counting(0, 12)), 12U);
  EXPECT_EQ(index.store(77, std::vector<BlockName>{14}, counting(12, 4)), 0U) << "nobody knows where it belongs";
  EXPECT_EQ(index.blocks(), 3U);
}

TEST(ExactIndex, ChainsOfAnyStrideThatDividesTheBlockSizeAgree) {
  ExactIndex index(100);
  (void)index.store(std::nullopt, std::vector<BlockName>{1, 2}, counting(0, 32));
  EXPECT_EQ(held(index, counting(0, 40), 16), 32U);
  EXPECT_EQ(held(index, counting(0, 40), 8), 32U);
  EXPECT_EQ(held(index, counting(0, 40), 1), 32U);
  EXPECT_EQ(held(index, counting(0, 40), 3), 0U);
  EXPECT_EQ(held(index, counting(0, 40), 32), 0U);
}

TEST(ExactIndex, AdaptersAndWhatElseMustBeEqualKeepPromptsApart) {
  ExactIndex index(100);
  (void)index.store(std::nullopt, std::vector<BlockName>{1}, counting(0, 4), 5);
  (void)index.store(std::nullopt, std::vector<BlockName>{2}, counting(0, 4), 0, 6);
  EXPECT_EQ(held(index, counting(0, 4)), 0U);
  EXPECT_EQ(held(index, counting(0, 4), 4, 5), 4U);
}

TEST(ExactIndex, ABlockWithoutItsParentCannotBeFoundUntilTheParentIsBack) {
  ExactIndex index(100);
  (void)index.store(std::nullopt, std::vector<BlockName>{1, 2, 3, 4}, counting(0, 16));
  EXPECT_TRUE(index.remove(2));
  EXPECT_EQ(index.orphans(), 1U);
  EXPECT_EQ(held(index, counting(0, 16)), 4U);
  EXPECT_EQ(index.store(1, std::vector<BlockName>{2}, counting(4, 4)), 1U);
  EXPECT_EQ(index.orphans(), 0U);
  EXPECT_EQ(held(index, counting(0, 16)), 16U);
  EXPECT_FALSE(index.remove(9));
}

TEST(ExactIndex, BeyondItsCapacityBlocksAreLeftOutAndNothingIsClaimed) {
  ExactIndex index(3);
  EXPECT_EQ(index.store(std::nullopt, std::vector<BlockName>{1, 2, 3, 4, 5}, counting(0, 20)), 3U);
  EXPECT_EQ(held(index, counting(0, 20)), 12U);
  EXPECT_TRUE(index.remove(3));
  EXPECT_EQ(index.store(2, std::vector<BlockName>{3}, counting(8, 4)), 1U);
  EXPECT_EQ(held(index, counting(0, 20)), 12U);
}

TEST(ExactIndex, BlocksOfAnotherSizeAndRowsThatDoNotAddUpAreNotTaken) {
  ExactIndex index(10);
  (void)index.store(std::nullopt, std::vector<BlockName>{1}, counting(0, 4));
  EXPECT_EQ(index.store(std::nullopt, std::vector<BlockName>{2}, counting(0, 8)), 0U);
  EXPECT_EQ(index.store(std::nullopt, std::vector<BlockName>{2, 3}, counting(0, 7)), 0U);
  EXPECT_EQ(index.store(std::nullopt, {}, counting(0, 8)), 0U);
  EXPECT_EQ(index.blocks(), 1U);
}

TEST(ExactIndex, EveryTokenCountsAtAnyPlace) {
  std::set<ChainHash> seen;
  for (std::uint64_t adapter = 0; adapter < 3; ++adapter) {
    for (std::uint32_t token = 0; token < 3; ++token) {
      for (const ChainHash hash : token_chain(Ids(50, token), 1, adapter).hashes) EXPECT_TRUE(seen.insert(hash).second);
    }
  }
}

TEST(ExactIndex, MemoryIsWhatIsStatedABlock) {
  const ExactIndex index(100'000);
  EXPECT_NEAR(static_cast<double>(index.memory_bytes()) / 100'000, ExactIndex::bytes_per_block(), 0.01);
  EXPECT_LT(ExactIndex::bytes_per_block(), 54);
}

/// Against a plain set of all beginnings held, under many random stores and removals, in and out of order.
TEST(ExactIndex, AgreesWithASetOfBeginningsWhateverComesAndGoes) {
  constexpr std::size_t size = 2;
  Random random(3);
  ExactIndex index(200);
  std::map<Ids, BlockName> name_of;  // of every beginning ever
  std::set<Ids> present;
  BlockName next = 1;
  for (int turn = 0; turn < 20'000; ++turn) {
    Ids prompt(size * (1 + random.below(6)));
    for (auto& id : prompt) id = static_cast<std::uint32_t>(random.below(3));
    const auto beginning = [&](std::size_t blocks) {
      return Ids(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(blocks * size));
    };
    const std::size_t blocks = prompt.size() / size;
    if (random.below(2) == 0) {
      const std::size_t from = random.below(blocks);  // a row from there to the end
      std::vector<BlockName> row;
      for (std::size_t i = from; i < blocks; ++i)
        row.push_back(name_of.try_emplace(beginning(i + 1), next++).first->second);
      const std::optional<BlockName> parent =
          from == 0 ? std::nullopt : std::optional(name_of.try_emplace(beginning(from), next++).first->second);
      const std::size_t placed = index.store(parent, row, std::span(prompt).subspan(from * size));
      const bool knows_parent = from == 0 || present.contains(beginning(from));
      if (!knows_parent) {
        ASSERT_EQ(placed, 0U);
      }
      for (std::size_t i = 0; i < placed; ++i) present.insert(beginning(from + i + 1));
      // Full is 200 with those that are gone and have children that are not.
      ASSERT_TRUE(!knows_parent || placed == row.size() || index.blocks() >= 100);
    } else {
      const auto known = name_of.find(prompt);
      const bool was = known != name_of.end() && index.remove(known->second);
      ASSERT_EQ(was, present.erase(prompt) == 1);
    }
    ASSERT_EQ(index.blocks(), present.size());
    std::size_t walked = 0;
    while (walked < blocks && present.contains(beginning(walked + 1))) ++walked;
    ASSERT_EQ(held(index, prompt, 1), walked * size);
    const auto orphaned = std::count_if(present.begin(), present.end(), [&](const Ids& each) {
      return each.size() > size && !present.contains(Ids(each.begin(), each.end() - static_cast<std::ptrdiff_t>(size)));
    });
    ASSERT_EQ(index.orphans(), static_cast<std::size_t>(orphaned));
  }
}

}  // namespace
}  // namespace evenkeel::affinity
