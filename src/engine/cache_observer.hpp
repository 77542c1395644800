#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/events.hpp"

namespace evenkeel::engine {

/// Is told what can be found in one rank's prefix cache, as it changes. It must not call the engine.
class CacheObserver {
 public:
  virtual ~CacheObserver() = default;
  /// Block `block`, from 0, of a sequence that begins as `prefix` says is full, and can be found from now on by `hash`;
  /// none like it could before. `parent`: the hash of the block before it, 0 for the first.
  virtual void stored(std::uint64_t hash, std::uint64_t parent, const PromptPrefix& prefix, std::int64_t block) = 0;
  /// Nothing can be found by it any more.
  virtual void removed(std::uint64_t hash) = 0;
};

/// An engine whose ranks may have prefix caches. `rank` below ranks(); nothing happens where there is no cache.
class CachedRanks {
 public:
  virtual ~CachedRanks() = default;
  /// Which must outlive the engine's next call; null: nobody.
  virtual void observe_cache(std::size_t rank, CacheObserver* observer) = 0;
  /// Nothing can be found any more; what runs goes on. Its observer is not told.
  virtual void clear_cache(std::size_t rank) = 0;
  [[nodiscard]] virtual std::size_t cached_blocks(std::size_t rank) const = 0;  ///< that differ
};

}  // namespace evenkeel::engine
