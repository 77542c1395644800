#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace evenkeel::redline {

/// Moves `count` of the items, drawn uniformly without replacement, to the front (the first steps of a Fisher-Yates
/// shuffle). Draws min(count, size) numbers, or none if all are taken.
template <class Item>
std::size_t draw_to_front(std::vector<Item>& items, std::size_t count, Random& random) {
  if (count >= items.size()) return items.size();
  for (std::size_t i = 0; i < count; ++i) std::swap(items[i], items[i + random.below(items.size() - i)]);
  return count;
}

}  // namespace evenkeel::redline
