#include "affinity/link_lru.hpp"

#include <cassert>
#include <utility>

#include "affinity/open_addressing.hpp"

namespace evenkeel::affinity {

void LinkLru::resize(std::size_t capacity) {
  while (blocks_ > capacity) drop_oldest();
  const std::vector<Node> before = std::exchange(nodes_, {});
  const Place first = oldest_;
  capacity_ = capacity;
  blocks_ = 0;
  nodes_.reserve(capacity);
  slots_.assign(slots_for(capacity), none);
  slots_.shrink_to_fit();
  oldest_ = newest_ = none;
  for (Place place = first; place != none; place = before[place].newer) insert(before[place]);
}

std::size_t LinkLru::home(ChainHash hash) const { return home_of(hash, slots_.size()); }

/// Where the block is, or where it would go.
std::pair<std::size_t, bool> LinkLru::find(ChainHash hash) const {
  std::size_t slot = home(hash);
  while (slots_[slot] != none) {
    if (nodes_[slots_[slot]].hash == hash) return {slot, true};
    if (++slot == slots_.size()) slot = 0;
  }
  return {slot, false};
}

bool LinkLru::touch(ChainHash hash, Time now) {
  if (slots_.empty()) return false;
  const auto [slot, found] = find(hash);
  if (!found) return false;
  const Place place = slots_[slot];
  nodes_[place].touched = tenths_of(now);
  if (place == newest_) return true;
  unlink(place);
  link_newest(place);
  return true;
}

void LinkLru::add(ChainHash hash, std::size_t blocks, Time now) {
  insert({hash, tenths_of(now), static_cast<std::uint32_t>(blocks), none, none});
}

void LinkLru::insert(const Node& node) {
  assert(blocks_ + node.blocks <= capacity_);
  const std::size_t slot = find(node.hash).first;
  const auto place = static_cast<Place>(nodes_.size());
  nodes_.push_back(node);
  blocks_ += node.blocks;
  slots_[slot] = place;
  link_newest(place);
}

void LinkLru::prefetch(ChainHash hash) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[home(hash)]);
}

std::optional<LinkLru::Oldest> LinkLru::oldest() const {
  if (oldest_ == none) return std::nullopt;
  return Oldest{nodes_[oldest_].hash, Time(std::chrono::milliseconds(100) * std::int64_t{nodes_[oldest_].touched})};
}

void LinkLru::drop_oldest() {
  const Place gap = oldest_;
  blocks_ -= nodes_[gap].blocks;
  erase_slot(find(nodes_[gap].hash).first);
  unlink(gap);
  const auto last = static_cast<Place>(nodes_.size() - 1);
  if (gap != last) {
    slots_[find(nodes_[last].hash).first] = gap;
    nodes_[gap] = nodes_[last];
    (nodes_[gap].older == none ? oldest_ : nodes_[nodes_[gap].older].newer) = gap;
    (nodes_[gap].newer == none ? newest_ : nodes_[nodes_[gap].newer].older) = gap;
  }
  nodes_.pop_back();
}

void LinkLru::clear() {
  nodes_.clear();
  blocks_ = 0;
  slots_.assign(slots_.size(), none);
  oldest_ = newest_ = none;
}

void LinkLru::erase_slot(std::size_t slot) {
  close_gap(
      slot, slots_.size(), [this](std::size_t i) { return slots_[i] == none; },
      [this](std::size_t i) { return home(nodes_[slots_[i]].hash); },
      [this](std::size_t to, std::size_t from) { slots_[to] = slots_[from]; },
      [this](std::size_t i) { slots_[i] = none; });
}

void LinkLru::link_newest(Place place) {
  nodes_[place].older = newest_;
  nodes_[place].newer = none;
  (newest_ == none ? oldest_ : nodes_[newest_].newer) = place;
  newest_ = place;
}

void LinkLru::unlink(Place place) {
  const Node& node = nodes_[place];
  (node.older == none ? oldest_ : nodes_[node.older].newer) = node.newer;
  (node.newer == none ? newest_ : nodes_[node.newer].older) = node.older;
}

}  // namespace evenkeel::affinity
