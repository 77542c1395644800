#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "affinity/block_chain.hpp"
#include "base/clock.hpp"

namespace evenkeel::affinity {

/// The links that one worker probably holds, by when they were last asked for. Its capacity is in blocks; whoever adds
/// makes room first. All memory is taken by resize(); everything else is O(1) and allocates nothing.
class LinkLru {
 public:
  /// Keeps the newest that fit. Capacity up to 2^31. O(old + new capacity).
  void resize(std::size_t capacity);
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }

  /// Makes the link the newest; false if it is not here.
  bool touch(ChainHash hash, Time now);
  /// Adds what is not here as the newest; there must be room.
  void add(ChainHash hash, std::size_t blocks, Time now);
  struct Oldest {
    ChainHash hash;
    Time touched;
  };
  [[nodiscard]] std::optional<Oldest> oldest() const;
  void drop_oldest();
  void clear();
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Node& node : nodes_) visit(node.hash);
  }
  /// Has what touch() will look at fetched into the processor's cache.
  void prefetch(ChainHash hash) const;

  /// Of what resize() takes for each block of capacity (a link has one at least).
  static constexpr double bytes_per_block() { return sizeof(Node) + sizeof(Place) * 4.0 / 3.0; }

 private:
  using Place = std::uint32_t;
  static constexpr Place none = std::numeric_limits<Place>::max();
  /// Ages are kept to a tenth of a second, which is enough for a lifetime of minutes and halves what they take.
  using Tenths = std::uint32_t;
  static Tenths tenths_of(Time time) { return static_cast<Tenths>(time.time_since_epoch().count() / 100'000'000); }
  struct Node {
    ChainHash hash;
    Tenths touched;
    std::uint32_t blocks;
    Place older;
    Place newer;
  };

  [[nodiscard]] std::size_t home(ChainHash hash) const;
  [[nodiscard]] std::pair<std::size_t, bool> find(ChainHash hash) const;
  void insert(const Node& node);
  void erase_slot(std::size_t slot);
  void link_newest(Place place);
  void unlink(Place place);

  std::size_t capacity_ = 0;
  std::size_t blocks_ = 0;
  std::vector<Node> nodes_;   ///< in no order; the last fills the gap of one that goes
  std::vector<Place> slots_;  ///< open addressing with linear probing, three quarters full at most
  Place oldest_ = none;
  Place newest_ = none;
};

}  // namespace evenkeel::affinity
