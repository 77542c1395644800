#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "affinity/fixed_table.hpp"
#include "affinity/kv_events.hpp"
#include "affinity/token_chain.hpp"

namespace evenkeel::affinity {

/// Which blocks one worker's prefix cache holds, as the worker itself told: its own names of blocks, and our hash of
/// the tokens that each of them ends. It never claims a block that was not stored, or that was removed since; a block
/// whose parent is not known cannot be placed and is left out, and so is what goes beyond its capacity.
///
/// Memory: bytes_per_block() (53) for each block of capacity, taken at the start; nothing else allocates. Not
/// thread-safe.
class ExactIndex {
 public:
  /// `capacity` in blocks, 1 to 2^31.
  explicit ExactIndex(std::size_t capacity) : names_(capacity), blocks_(capacity) {}

  /// A row of blocks, one behind another; all of one size, also from call to call. `adapter` and `extra` as of
  /// BlocksStored. How many of them are held now. O(tokens).
  std::size_t store(std::optional<BlockName> parent, std::span<const BlockName> row,
                    std::span<const std::uint32_t> tokens, std::uint64_t adapter = 0, std::uint64_t extra = 0);
  /// Whether it was held. O(1).
  bool remove(BlockName name);

  /// How many tokens at the beginning of the prompt are held, in whole blocks. The chain's stride must divide the block
  /// size. O(log blocks) while each block held has its parent, as in engines that evict ends before beginnings;
  /// else O(blocks).
  [[nodiscard]] std::size_t held_tokens(const TokenChain& chain) const;

  [[nodiscard]] std::size_t blocks() const { return names_.size(); }
  [[nodiscard]] std::uint32_t block_size() const { return block_size_; }  ///< 0 = not known yet
  /// Blocks held whose parent is not, so that nobody can find them.
  [[nodiscard]] std::size_t orphans() const { return orphans_; }
  [[nodiscard]] std::size_t memory_bytes() const { return names_.memory_bytes() + blocks_.memory_bytes(); }
  static constexpr double bytes_per_block() {
    return FixedTable<ChainHash>::bytes_per_entry() + FixedTable<Block>::bytes_per_entry();
  }

 private:
  /// Of a block that is held, or whose children are.
  struct Block {
    ChainHash parent = 0;  ///< 0 = none: it begins a prompt
    std::uint32_t children = 0;
    std::uint32_t names = 0;  ///< that the engine has for it; 0 = it is not held
  };
  static constexpr std::uint64_t key_of(BlockName name) { return name == 0 ? 0x9E3779B97F4A7C15U : name; }
  [[nodiscard]] bool place(BlockName name, ChainHash hash, ChainHash parent);
  [[nodiscard]] bool holds(ChainHash hash) const;

  FixedTable<ChainHash> names_;
  FixedTable<Block> blocks_;  ///< by the hash of all tokens up to its end
  std::size_t orphans_ = 0;
  std::uint32_t block_size_ = 0;
};

}  // namespace evenkeel::affinity
