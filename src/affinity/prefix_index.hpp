#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "affinity/block_chain.hpp"
#include "affinity/link_lru.hpp"
#include "affinity/open_addressing.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"

namespace evenkeel::affinity {

struct PrefixIndexOptions {
  /// Of all workers together. If they ask for more, each is cut to an equal share of it.
  std::size_t total_blocks = std::size_t{1} << 20U;
  /// How long a block is believed in after it was last placed; also an engine forgets what nobody asks for.
  Duration lifetime = std::chrono::hours(1);
};

/// Which worker probably holds which prompt's beginning: told of every placement, never by an engine. Of each worker it
/// keeps as many blocks as that one's cache holds, and lets them go in the order in which the engine's cache would:
/// the longest unused first, of one prompt its end before its beginning. A worker therefore never holds a link without
/// the one before it, and how far a chain is held is found by bisection instead of a walk.
///
/// Memory: bytes_per_block() for each block of capacity, taken when a worker joins (51 for up to 64 workers, 11 more
/// for each further 64), so total_blocks of the default bound come to 51 MiB. Nothing else allocates. Not thread-safe.
/// Deterministic.
class PrefixIndex {
 public:
  explicit PrefixIndex(PrefixIndexOptions options = {}) : options_(options) {}

  /// The worker joins, or its cache has changed in size; `blocks` that it holds, 0 = it is not to be kept account of.
  /// Its id is a small number: memory grows with the largest. O(capacity of all).
  void set_capacity(WorkerId worker, std::size_t blocks);
  /// The worker lost its cache. O(its blocks).
  void forget(WorkerId worker);

  /// A prompt of this chain was placed there. What is longer than the worker's capacity is left out. O(links). Workers
  /// not known are ignored.
  void insert(WorkerId worker, std::span<const ChainHash> chain, Time now);
  /// How many blocks of the chain each worker holds, from its first on: matched[id], for ids below matched.size();
  /// others get 0. O(workers + d log links), d being how many different answers there are.
  void expected_hit(std::span<const ChainHash> chain, std::span<std::uint32_t> matched) const;
  /// Lets go of what is older than the lifetime, at most so many links. True if there may be more.
  bool expire(Time now, std::size_t most = 256);

  [[nodiscard]] std::size_t blocks(WorkerId worker) const;
  [[nodiscard]] std::size_t capacity(WorkerId worker) const;
  /// Of all capacity together, as it is now.
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] static constexpr double bytes_per_block(std::size_t workers) {
    const auto words = static_cast<double>((workers + 63) / 64);
    return LinkLru::bytes_per_block() + (1 + words) * sizeof(std::uint64_t) * 4.0 / 3.0;
  }

 private:
  /// Who holds each link: open addressing with linear probing. A slot of `stride_` words: the hash, then a bit for
  /// each worker; one without any bit is empty.
  class Holders {
   public:
    void rebuild(std::size_t blocks, std::size_t workers, const std::vector<LinkLru>& of);
    void set(ChainHash hash, std::size_t worker);
    void clear(ChainHash hash, std::size_t worker);
    [[nodiscard]] std::uint64_t word(ChainHash hash, std::size_t word) const;
    void prefetch(ChainHash hash) const { __builtin_prefetch(at(home_of(hash, slots_))); }
    [[nodiscard]] std::size_t words() const { return stride_ - 1; }
    [[nodiscard]] std::size_t bytes() const { return table_.size() * sizeof(std::uint64_t); }

   private:
    [[nodiscard]] const std::uint64_t* at(std::size_t slot) const { return table_.data() + slot * stride_; }
    [[nodiscard]] std::uint64_t* at(std::size_t slot) { return table_.data() + slot * stride_; }
    [[nodiscard]] bool empty(std::size_t slot) const;
    [[nodiscard]] std::size_t find(ChainHash hash) const;

    std::size_t slots_ = 0;
    std::size_t stride_ = 2;
    std::vector<std::uint64_t> table_;
  };

  void share_out();
  void drop_oldest(std::size_t worker);
  void bisect(std::span<const ChainHash> chain, std::size_t word, std::uint64_t who, std::size_t low, std::size_t high,
              std::span<std::uint32_t> matched) const;

  PrefixIndexOptions options_;
  std::vector<std::size_t> wanted_;  ///< by worker: blocks asked for
  std::vector<LinkLru> held_;        ///< by worker
  Holders holders_;
  std::size_t next_to_expire_ = 0;
};

}  // namespace evenkeel::affinity
