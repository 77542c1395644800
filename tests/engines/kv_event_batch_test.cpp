#include "engines/kv_event_batch.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engines/message_pack.hpp"

namespace evenkeel::engines {
namespace {

using affinity::BlocksCleared;
using affinity::BlocksRemoved;
using affinity::BlocksStored;
using affinity::KvEventBatch;

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// Written by Python's msgpack 1.0.3.

// [1717000000.25, [["BlockStored", [1, 2**64-1], None, [10, 11, 70000, 13], 2],
//   ["BlockStored", [5], 1, [14, 15], 2, None, "GPU", None, [None], 0],
//   ["BlockRemoved", [7], "GPU"], ["AllBlocksCleared"]], 3]
const std::string vllm_lists = bytes_of(
    "93cb41d995d5d01000009495ab426c6f636b53746f7265649201cfffffffffffffffffc0940a0bce000111700d029aab426c6f636b53746f"
    "726564910501920e0f02c0a3475055c091c00093ac426c6f636b52656d6f7665649107a347505591b0416c6c426c6f636b73436c65617265"
    "6403");
// The same in maps: {"type": "BlockStored", "block_hashes": ...}; the second with "locality": "LOCAL".
const std::string vllm_maps = bytes_of(
    "93cb41d995d5d01000009484a474797065ab426c6f636b53746f726564ac626c6f636b5f6861736865739201cfffffffffffffffffa9746f"
    "6b656e5f696473940a0bce000111700daa626c6f636b5f73697a650288a474797065ab426c6f636b53746f726564ac626c6f636b5f686173"
    "6865739105b1706172656e745f626c6f636b5f6861736801a9746f6b656e5f696473920e0faa626c6f636b5f73697a6502a66d656469756d"
    "a3475055a967726f75705f69647800a86c6f63616c697479a54c4f43414c83a474797065ac426c6f636b52656d6f766564ac626c6f636b5f"
    "6861736865739107a66d656469756da347505581a474797065b0416c6c426c6f636b73436c656172656403");
// [1717000000.25, [["BlockStored", [-2], None, [10], 1, None, "GPU"],
//   ["BlockStored", [-2**63], -2, [11], 1, None, "GPU"], ["BlockRemoved", [-2], "GPU"], ["AllBlocksCleared"]], 0]
const std::string sglang_pages = bytes_of(
    "93cb41d995d5d01000009497ab426c6f636b53746f72656491fec0910a01c0a347505597ab426c6f636b53746f72656491d3800000000000"
    "0000fe910b01c0a347505593ac426c6f636b52656d6f76656491fea347505591b0416c6c426c6f636b73436c656172656400");
// [1717000000.25, [{"type": "BlockStored", "block_hashes": [bytes 1 to 32, bytes 101 to 132],
//   "parent_block_hash": None, "token_ids": [1, 2, 3, 4], "block_size": 2}]]
const std::string digests = bytes_of(
    "92cb41d995d5d01000009185a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392c4200102030405060708090a0b"
    "0c0d0e0f101112131415161718191a1b1c1d1e1f20c42065666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838"
    "4b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739401020304aa626c6f636b5f73697a6502");
// [1717000000, [["BlockTouched", [1], {"a": [1, 2]}], stored of medium "CPU", stored with lora_id 1 and lora_name
//   "sql", stored with extra_keys [["img"]], group_idx 1 and kv_cache_spec_sliding_window 1024, stored with three
//   tokens for one block of two], None, "more", {"x": 1}]
const std::string others = bytes_of(
    "95ce665757409593ac426c6f636b546f7563686564910181a16192010285a474797065ab426c6f636b53746f726564ac626c6f636b5f6861"
    "736865739103a9746f6b656e5f696473920102aa626c6f636b5f73697a6502a66d656469756da343505586a474797065ab426c6f636b5374"
    "6f726564ac626c6f636b5f6861736865739104a9746f6b656e5f696473920102aa626c6f636b5f73697a6502a76c6f72615f696401a96c6f"
    "72615f6e616d65a373716c88a474797065ab426c6f636b53746f726564ac626c6f636b5f6861736865739106a9746f6b656e5f6964739201"
    "02aa626c6f636b5f73697a6502aa65787472615f6b6579739191a3696d67a967726f75705f69647801b26b765f63616368655f737065635f"
    "6b696e64ae736c6964696e675f77696e646f77bc6b765f63616368655f737065635f736c6964696e675f77696e646f77cd040084a4747970"
    "65ab426c6f636b53746f726564ac626c6f636b5f6861736865739108a9746f6b656e5f69647393010203aa626c6f636b5f73697a6502c0a4"
    "6d6f726581a17801");

KvEventBatch read(const std::string& payload) {
  const auto batch = read_kv_event_batch(payload);
  EXPECT_TRUE(batch) << batch.error().message;
  return batch.value_or(KvEventBatch{});
}

std::string complaint(const std::string& payload) {
  const auto batch = read_kv_event_batch(payload);
  return batch ? "" : batch.error().message;
}

TEST(KvEventBatch, ListsAndMapsSayTheSame) {
  for (const std::string* payload : {&vllm_lists, &vllm_maps}) {
    const KvEventBatch batch = read(*payload);
    ASSERT_EQ(batch.events.size(), 4U);
    EXPECT_EQ(batch.rank, 3U);
    const auto& first = std::get<BlocksStored>(batch.events[0]);
    EXPECT_EQ(first.blocks, (std::vector<affinity::BlockName>{1, ~std::uint64_t{0}}));
    EXPECT_EQ(first.parent, std::nullopt);
    EXPECT_EQ(first.tokens, (std::vector<std::uint32_t>{10, 11, 70000, 13}));
    EXPECT_EQ(first.adapter, 0U);
    EXPECT_EQ(first.extra, 0U);
    const auto& second = std::get<BlocksStored>(batch.events[1]);
    EXPECT_EQ(second.parent, 1U);
    EXPECT_EQ(second.group, 0U);
    EXPECT_EQ(second.extra, 0U) << "[nil] is nothing";
    EXPECT_EQ(std::get<BlocksRemoved>(batch.events[2]).blocks, std::vector<affinity::BlockName>{7});
    EXPECT_TRUE(std::holds_alternative<BlocksCleared>(batch.events[3]));
    EXPECT_EQ(batch.unknown, 0U);
  }
}

TEST(KvEventBatch, SignedNamesAreTheirTwosComplement) {
  const KvEventBatch batch = read(sglang_pages);
  ASSERT_EQ(batch.events.size(), 4U);
  EXPECT_EQ(std::get<BlocksStored>(batch.events[0]).blocks.front(), ~std::uint64_t{1});
  EXPECT_EQ(std::get<BlocksStored>(batch.events[1]).blocks.front(), std::uint64_t{1} << 63U);
  EXPECT_EQ(std::get<BlocksStored>(batch.events[1]).parent, ~std::uint64_t{1});
  EXPECT_EQ(batch.rank, 0U);
}

TEST(KvEventBatch, OfADigestTheLastEightBytesCount) {
  const KvEventBatch batch = read(digests);
  const auto& stored = std::get<BlocksStored>(batch.events.at(0));
  EXPECT_EQ(stored.blocks, (std::vector<affinity::BlockName>{0x191A1B1C1D1E1F20U, 0x7D7E7F8081828384U}));
  EXPECT_EQ(batch.rank, std::nullopt) << "it is missing";
}

TEST(KvEventBatch, WhatIsNotKnownIsPassedOverAndCounted) {
  const KvEventBatch batch = read(others);
  EXPECT_EQ(batch.unknown, 2U) << "an unknown event, and a row that contradicts itself";
  EXPECT_EQ(batch.elsewhere, 1U);
  ASSERT_EQ(batch.events.size(), 2U);
  const auto& adapted = std::get<BlocksStored>(batch.events[0]);
  EXPECT_NE(adapted.adapter, 0U);
  EXPECT_FALSE(adapted.windowed);
  const auto& windowed = std::get<BlocksStored>(batch.events[1]);
  EXPECT_NE(windowed.extra, 0U);
  EXPECT_EQ(windowed.group, 1U);
  EXPECT_TRUE(windowed.windowed);
  EXPECT_EQ(batch.rank, std::nullopt);
}

TEST(KvEventBatch, ErrorsNameTheFieldAndWhatIsWanted) {
  EXPECT_EQ(complaint(""), "it ends in the middle");
  EXPECT_EQ(complaint("\x01"), "the batch is an integer; wanted: a list");
  EXPECT_EQ(complaint("\x91\x01"), "the batch has 1 items; wanted: time and events");
  EXPECT_EQ(complaint("\x92\xA1x\x90"), "the time is a text; wanted: a number");
  EXPECT_EQ(complaint("\x92\x01\xC0"), "the events is nil; wanted: a list");
  EXPECT_EQ(complaint("\x92\x01\x91\x07"), "an event is an integer; wanted: a list or a map");
  EXPECT_EQ(complaint("\x92\x01\x91\x90"), "an event is an empty list; wanted: its type first");
  EXPECT_EQ(complaint("\x92\x01\x91\x80"), "an event has no type; wanted: the key \"type\"");
  EXPECT_EQ(complaint("\x92\x01\x91\x91\xACUlockRemoved"), "") << "not known";
  EXPECT_EQ(complaint("\x92\x01\x91\x91\xAC"
                      "BlockRemoved"),
            "an event names no blocks; wanted: block_hashes");
  EXPECT_EQ(complaint("\x92\x01\x91\x92\xAC"
                      "BlockRemoved\x91\xC3"),
            "a block hash is a boolean; wanted: an integer, or at least one byte");
  EXPECT_EQ(complaint(std::string("\x92\x01\x91\x92\xAC"
                                  "BlockRemoved\x91\xC4\x00",
                                  20)),
            "a block hash is bytes; wanted: an integer, or at least one byte");
  EXPECT_EQ(complaint("\x92\x01\x91\x94\xAB"
                      "BlockStored\x91\x01\xC0\x91\xFF"),
            "a token id is an integer; wanted: a whole number below 2^32");
  EXPECT_EQ(complaint("\x93\x01\x90\xFF"), "the rank is an integer; wanted: a whole number or nil");
  EXPECT_EQ(complaint(vllm_lists + "x"), "1 bytes follow the batch");
  EXPECT_EQ(complaint("\x92\x01\x91\xC1"), "1 bytes before its end stands no value");
  EXPECT_EQ(complaint(std::string(max_kv_payload_bytes + 1, '\x90')),
            "the batch has 16777217 bytes; allowed: at most 16777216");
}

TEST(KvEventBatch, NoMoreIsBelievedThanThereIs) {
  // Four thousand million hashes in five bytes.
  EXPECT_EQ(complaint("\x92\x01\x91\x92\xAC"
                      "BlockRemoved\xDD\xFF\xFF\xFF\xFF"),
            "it ends in the middle");
  EXPECT_EQ(complaint("\x92\x01\xDD\xFF\xFF\xFF\xFF"), "it ends in the middle");
  EXPECT_EQ(complaint("\x92\x01\x91\x92\xA1x" + std::string(100'000, '\x91')), "it is more than 32 deep");
}

TEST(KvEventBatch, EveryCutIsAnErrorAndNoneIsRead) {
  for (const std::string* payload : {&vllm_lists, &vllm_maps, &sglang_pages, &digests, &others}) {
    for (std::size_t size = 0; size < payload->size(); ++size) {
      EXPECT_FALSE(read_kv_event_batch(std::string_view(*payload).substr(0, size))) << size;
    }
  }
}

/// Of whatever comes out the reader of events relies on this.
void expect_sound(const KvEventBatch& batch, std::size_t bytes) {
  std::size_t size = 0;
  for (const auto& event : batch.events) {
    if (const auto* stored = std::get_if<BlocksStored>(&event)) {
      ASSERT_FALSE(stored->blocks.empty());
      ASSERT_FALSE(stored->tokens.empty());
      ASSERT_EQ(stored->tokens.size() % stored->blocks.size(), 0U);
      size += stored->tokens.size() + stored->blocks.size();
    } else if (const auto* removed = std::get_if<BlocksRemoved>(&event)) {
      size += removed->blocks.size();
    }
    ++size;
  }
  ASSERT_LE(size, bytes);
}

TEST(KvEventBatch, DamageIsReadSoundlyOrRefused) {
  Random random(7);
  std::size_t read = 0;
  for (int turn = 0; turn < 60'000; ++turn) {
    const std::string* const whole[] = {&vllm_lists, &vllm_maps, &sglang_pages, &digests, &others};
    std::string payload = *whole[random.below(5)];
    for (std::uint64_t damages = 1 + random.below(4); damages > 0; --damages) {
      const std::size_t at = random.below(payload.size());
      switch (random.below(4)) {
        case 0: payload[at] = static_cast<char>(random.below(256)); break;
        case 1: payload[at] = static_cast<char>(payload[at] ^ (1 << random.below(8))); break;
        case 2: payload.insert(at, 1, static_cast<char>(random.below(256))); break;
        default: payload.erase(at, 1 + random.below(3)); break;
      }
      if (payload.empty()) payload = "x";
    }
    if (const auto batch = read_kv_event_batch(payload)) {
      ++read;
      expect_sound(*batch, payload.size());
    }
  }
  EXPECT_GT(read, 1000U) << "damage to a number or a name leaves a batch that can be read";
}

TEST(KvEventBatch, AnyBytesAreReadSoundlyOrRefused) {
  Random random(8);
  for (int turn = 0; turn < 60'000; ++turn) {
    std::string payload(random.below(200), '\0');
    for (char& byte : payload) byte = static_cast<char>(random.below(256));
    if (!payload.empty() && random.below(2) == 0)
      payload.replace(0, 1,
                      "\x92\x01\x91\x92\xAC"
                      "BlockRemoved");
    if (const auto batch = read_kv_event_batch(payload)) expect_sound(*batch, payload.size());
  }
}

}  // namespace
}  // namespace evenkeel::engines
