#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "affinity/open_addressing.hpp"
#include "base/random.hpp"

namespace evenkeel::affinity {

/// A hash table of a size fixed at the start: open addressing with linear probing and no marks of what was erased, so
/// that it never rehashes, whatever comes and goes. Keys are any but 0.
template <class Value>
class FixedTable {
 public:
  explicit FixedTable(std::size_t capacity) : capacity_(capacity), slots_(slots_for(capacity)) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Value* find(std::uint64_t key) {
    Slot& slot = slots_[place_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  [[nodiscard]] const Value* find(std::uint64_t key) const { return const_cast<FixedTable*>(this)->find(key); }
  /// What is there, or a fresh one; null if the table is full. Pointers hold until the next erase().
  [[nodiscard]] Value* find_or_add(std::uint64_t key) {
    Slot& slot = slots_[place_of(key)];
    if (slot.key == key) return &slot.value;
    if (size_ == capacity_) return nullptr;
    ++size_;
    slot = {key, Value{}};
    return &slot.value;
  }
  /// It must be there.
  void erase(std::uint64_t key) {
    --size_;
    close_gap(
        place_of(key), slots_.size(), [&](std::size_t i) { return slots_[i].key == 0; },
        [&](std::size_t i) { return home(slots_[i].key); },
        [&](std::size_t to, std::size_t from) { slots_[to] = slots_[from]; }, [&](std::size_t i) { slots_[i] = {}; });
  }
  [[nodiscard]] std::size_t memory_bytes() const { return slots_.size() * sizeof(Slot); }
  static constexpr double bytes_per_entry() { return sizeof(Slot) * 4.0 / 3.0; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
  };
  [[nodiscard]] std::size_t home(std::uint64_t key) const { return home_of(mix64(key), slots_.size()); }
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    std::size_t slot = home(key);
    while (slots_[slot].key != 0 && slots_[slot].key != key) {
      if (++slot == slots_.size()) slot = 0;
    }
    return slot;
  }

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace evenkeel::affinity
