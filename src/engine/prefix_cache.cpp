#include "engine/prefix_cache.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/random.hpp"

namespace evenkeel::engine {

PrefixCache::PrefixCache(std::int64_t blocks, std::int64_t block_size)
    : block_size_(block_size), nodes_(static_cast<std::size_t>(blocks)) {
  first_.reserve(nodes_.size());
  for (Block block = 0; block < nodes_.size(); ++block) join_row_end(block);
}

void PrefixCache::enter(Slot slot, std::shared_ptr<const PromptPrefix> prefix, std::int64_t prompt,
                        std::int64_t tokens) {
  if (slot >= sequences_.size()) sequences_.resize(slot + 1);
  Sequence& sequence = sequences_[slot];
  assert(sequence.blocks.empty());
  sequence.blocks.reserve(static_cast<std::size_t>(tokens / block_size_ + 1));
  sequence.full = 0;
  sequence.shared_tokens = 0;
  if (prefix) {
    const std::int64_t told = static_cast<std::int64_t>(prefix->chain.size()) * prefix->block_tokens;
    sequence.shared_tokens = std::min(prefix->over_output ? tokens : prompt, told);
  }
  sequence.prefix = std::move(prefix);
  sequence.own = next_own_++;
}

/// A block within the shared tokens is told by the prefix up to the prefix block that it ends in; any other is the
/// sequence's own.
std::uint64_t PrefixCache::hash_of(const Sequence& sequence, std::int64_t block) const {
  const std::int64_t end = (block + 1) * block_size_;
  const auto salt = mix64(static_cast<std::uint64_t>(block) + 1);
  if (end > sequence.shared_tokens) return mix64(~sequence.own ^ salt);
  return mix64(sequence.prefix->chain[static_cast<std::size_t>((end - 1) / sequence.prefix->block_tokens)] ^ salt);
}

PrefixCache::Block PrefixCache::holder_of(std::uint64_t hash) const {
  const auto found = first_.find(hash);
  return found == first_.end() ? none : found->second;
}

PrefixCache::Hit PrefixCache::find(Slot slot, std::int64_t most) {
  const Sequence& sequence = sequences_[slot];
  Hit hit;
  found_.clear();
  while (hit.blocks < most) {
    const Block block = holder_of(hash_of(sequence, hit.blocks));
    if (block == none) break;
    found_.push_back(block);
    ++hit.blocks;
    if (nodes_[block].users == 0) ++hit.free;
  }
  return hit;
}

void PrefixCache::take_found(Slot slot) {
  Sequence& sequence = sequences_[slot];
  assert(sequence.blocks.empty());
  for (const Block block : found_) {
    if (nodes_[block].users++ == 0) leave_row(block);
    sequence.blocks.push_back(block);
  }
  sequence.full = static_cast<std::int64_t>(found_.size());
}

void PrefixCache::extend(Slot slot, std::int64_t count) {
  Sequence& sequence = sequences_[slot];
  assert(count <= free_);
  for (; count > 0; --count) {
    const Block block = front_;
    leave_row(block);
    if (nodes_[block].full) forget(block);
    nodes_[block].users = 1;
    sequence.blocks.push_back(block);
  }
}

void PrefixCache::fill(Slot slot, std::int64_t tokens) {
  Sequence& sequence = sequences_[slot];
  for (; (sequence.full + 1) * block_size_ <= tokens; ++sequence.full) {
    const std::uint64_t hash = hash_of(sequence, sequence.full);
    const bool fresh = publish(sequence.blocks[static_cast<std::size_t>(sequence.full)], hash);
    if (!fresh || observer_ == nullptr || (sequence.full + 1) * block_size_ > sequence.shared_tokens) continue;
    observer_->stored(hash, sequence.full == 0 ? 0 : hash_of(sequence, sequence.full - 1), *sequence.prefix,
                      sequence.full);
  }
}

std::int64_t PrefixCache::release(Slot slot) {
  Sequence& sequence = sequences_[slot];
  const std::int64_t before = free_;
  for (std::size_t i = sequence.blocks.size(); i-- > 0;) {
    Node& node = nodes_[sequence.blocks[i]];
    if (--node.users > 0) continue;
    if (node.full) {
      join_row_end(sequence.blocks[i]);
    } else {
      join_row_front(sequence.blocks[i]);
    }
  }
  sequence.blocks.clear();
  sequence.full = 0;
  return free_ - before;
}

// --- the row of free blocks ------------------------------------------------------------------------------------

void PrefixCache::leave_row(Block block) {
  const Node& node = nodes_[block];
  (node.before == none ? front_ : nodes_[node.before].behind) = node.behind;
  (node.behind == none ? end_ : nodes_[node.behind].before) = node.before;
  --free_;
}

void PrefixCache::join_row_front(Block block) {
  nodes_[block].before = none;
  nodes_[block].behind = front_;
  (front_ == none ? end_ : nodes_[front_].before) = block;
  front_ = block;
  ++free_;
}

void PrefixCache::join_row_end(Block block) {
  nodes_[block].before = end_;
  nodes_[block].behind = none;
  (end_ == none ? front_ : nodes_[end_].behind) = block;
  end_ = block;
  ++free_;
}

// --- what can be found -------------------------------------------------------------------------------------------

bool PrefixCache::publish(Block block, std::uint64_t hash) {
  Node& node = nodes_[block];
  node.hash = hash;
  node.full = true;
  node.twin = none;
  const auto [place, first] = first_.try_emplace(hash, block);
  if (first) return true;
  // Two that were computed at once hold the same. The oldest is found first.
  Block last = place->second;
  while (nodes_[last].twin != none) last = nodes_[last].twin;
  nodes_[last].twin = block;
  return false;
}

void PrefixCache::forget(Block block) {
  Node& node = nodes_[block];
  const auto place = first_.find(node.hash);
  if (place->second == block) {
    if (node.twin == none) {
      first_.erase(place);
      if (observer_ != nullptr) observer_->removed(node.hash);
    } else {
      place->second = node.twin;
    }
  } else {
    Block other = place->second;
    while (nodes_[other].twin != block) other = nodes_[other].twin;
    nodes_[other].twin = node.twin;
  }
  node.full = false;
  node.twin = none;
}

void PrefixCache::clear() {
  first_.clear();
  for (Node& node : nodes_) {
    node.full = false;
    node.twin = none;
  }
}

// --- recount -------------------------------------------------------------------------------------------------------

Result<void> PrefixCache::check() const {
  std::vector<std::uint32_t> users(nodes_.size(), 0);
  for (const Sequence& sequence : sequences_) {
    for (const Block block : sequence.blocks) ++users[block];
  }
  std::int64_t unused = 0;
  std::size_t full = 0;
  for (Block block = 0; block < nodes_.size(); ++block) {
    if (nodes_[block].users != users[block]) return failure("prefix cache: users of a block are not those who hold it");
    if (users[block] == 0) ++unused;
    if (!nodes_[block].full) continue;
    ++full;
    Block other = holder_of(nodes_[block].hash);
    while (other != none && other != block) other = nodes_[other].twin;
    if (other == none) return failure("prefix cache: a full block cannot be found");
  }
  std::int64_t in_row = 0;
  for (Block block = front_; block != none && in_row <= free_; block = nodes_[block].behind) {
    if (users[block] != 0) return failure("prefix cache: a block in use stands among the free");
    ++in_row;
  }
  if (in_row != free_ || unused != free_)
    return failure("prefix cache: the free blocks are not those that nobody uses");
  std::size_t findable = 0;
  for (const auto& [hash, first] : first_) {
    for (Block block = first; block != none; block = nodes_[block].twin) {
      if (!nodes_[block].full || nodes_[block].hash != hash)
        return failure("prefix cache: a block holds something else");
      ++findable;
    }
  }
  if (findable != full) return failure("prefix cache: not as many can be found as are full");
  return {};
}

}  // namespace evenkeel::engine
