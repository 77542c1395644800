#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/error.hpp"
#include "engine/cache_observer.hpp"
#include "engine/events.hpp"

namespace evenkeel::engine {

/// The KV blocks of one rank by name, with what they hold, as vLLM V1's block pool under automatic prefix caching:
/// a block that is full is found again by the hash of all that it and the blocks before it hold, also while others use
/// it and after they have ended, until it is taken for something else. Free blocks wait in a row: those that hold
/// nothing worth finding in front, the others in the order in which they became free, of one sequence its last block
/// first. New blocks are taken from the front.
///
/// It only knows who holds what; when and how much is for Rank, which counts the free blocks, too.
class PrefixCache {
 public:
  using Slot = std::uint32_t;  ///< of a sequence in its rank

  /// `blocks` in [1, 2^31), `block_size` tokens each.
  PrefixCache(std::int64_t blocks, std::int64_t block_size);

  /// A sequence comes that will have at most `tokens` tokens; `prefix` (may be none) tells what the first `prompt` of
  /// them, or all, have in common with others'. Only here is memory taken.
  void enter(Slot slot, std::shared_ptr<const PromptPrefix> prefix, std::int64_t prompt, std::int64_t tokens);

  struct Hit {
    std::int64_t blocks = 0;
    std::int64_t free = 0;  ///< of them are held by nobody
  };
  /// The longest row of blocks, from its first and at most so many, that hold what the sequence begins with.
  [[nodiscard]] Hit find(Slot slot, std::int64_t most);
  /// Takes what find() just found for this sequence, which must hold nothing.
  void take_found(Slot slot);
  /// `count` more blocks for the sequence; so many must be free.
  void extend(Slot slot, std::int64_t count);
  /// The first `tokens` tokens of the sequence are computed, or are in the step that begins: blocks that they fill can
  /// be found from now on.
  void fill(Slot slot, std::int64_t tokens);
  /// The sequence holds nothing any more. How many blocks became free.
  std::int64_t release(Slot slot);

  /// Told from now on; null: nobody is. Of blocks that a prefix tells something about.
  void observe(CacheObserver* observer) { observer_ = observer; }
  /// Nothing can be found any more, also of what is in use.
  void clear();
  /// Blocks that can be found and differ.
  [[nodiscard]] std::size_t findable() const { return first_.size(); }
  [[nodiscard]] std::int64_t free_blocks() const { return free_; }
  /// Recounts who holds what. O(blocks).
  [[nodiscard]] Result<void> check() const;

 private:
  using Block = std::uint32_t;
  static constexpr Block none = 0xFFFFFFFFU;
  struct Node {
    std::uint64_t hash = 0;
    Block before = none;  ///< in the row of free blocks
    Block behind = none;
    Block twin = none;  ///< the next that holds the same
    std::uint32_t users = 0;
    bool full = false;  ///< can be found by `hash`
  };
  struct Sequence {
    std::vector<Block> blocks;
    std::int64_t full = 0;  ///< blocks of it, from the first, that were filled
    std::shared_ptr<const PromptPrefix> prefix;
    std::int64_t shared_tokens = 0;  ///< that `prefix` tells something about
    std::uint64_t own = 0;           ///< of what nobody else has
  };

  [[nodiscard]] std::uint64_t hash_of(const Sequence& sequence, std::int64_t block) const;
  [[nodiscard]] Block holder_of(std::uint64_t hash) const;
  void leave_row(Block block);
  void join_row_front(Block block);
  void join_row_end(Block block);
  /// Whether nothing like it could be found before.
  bool publish(Block block, std::uint64_t hash);
  void forget(Block block);

  const std::int64_t block_size_;
  std::vector<Node> nodes_;
  boost::unordered_flat_map<std::uint64_t, Block> first_;  ///< by hash: the oldest of those that hold it
  std::vector<Sequence> sequences_;                        ///< by slot
  std::vector<Block> found_;
  Block front_ = none;
  Block end_ = none;
  std::int64_t free_ = 0;
  std::uint64_t next_own_ = 1;
  CacheObserver* observer_ = nullptr;
};

}  // namespace evenkeel::engine
