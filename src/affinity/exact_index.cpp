#include "affinity/exact_index.hpp"

#include <limits>

namespace evenkeel::affinity {

std::size_t ExactIndex::store(std::optional<BlockName> parent, std::span<const BlockName> row,
                              std::span<const std::uint32_t> tokens, std::uint64_t adapter, std::uint64_t extra) {
  if (row.empty() || tokens.empty() || tokens.size() % row.size() != 0) return 0;
  const std::size_t size = tokens.size() / row.size();
  if (size > std::numeric_limits<std::uint32_t>::max() || (block_size_ != 0 && size != block_size_)) return 0;
  block_size_ = static_cast<std::uint32_t>(size);
  ChainHash before = 0;
  TokenHash hash(adapter);
  if (parent) {
    const ChainHash* const known = names_.find(key_of(*parent));
    if (known == nullptr) return 0;
    before = *known;
    hash = TokenHash::resumed(before);
  }
  if (extra != 0) hash.add(extra);
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (const std::uint32_t token : tokens.subspan(i * size, size)) hash.add(token);
    if (!place(row[i], hash.value(), before)) return i;
    before = hash.value();
  }
  return row.size();
}

bool ExactIndex::place(BlockName name, ChainHash hash, ChainHash parent) {
  if (const ChainHash* const known = names_.find(key_of(name)); known != nullptr) return *known == hash;
  Block* const block = blocks_.find_or_add(hash);
  if (block == nullptr) return false;
  ChainHash* const named = names_.find_or_add(key_of(name));
  if (named == nullptr) {
    if (block->names == 0 && block->children == 0) blocks_.erase(hash);
    return false;
  }
  *named = hash;
  if (block->names++ > 0) return true;
  orphans_ -= block->children;
  block->parent = parent;
  if (parent != 0) ++blocks_.find(parent)->children;
  return true;
}

bool ExactIndex::remove(BlockName name) {
  const ChainHash* const known = names_.find(key_of(name));
  if (known == nullptr) return false;
  const ChainHash hash = *known;
  names_.erase(key_of(name));
  Block* const block = blocks_.find(hash);
  if (--block->names > 0) return true;
  orphans_ += block->children;
  const ChainHash parent = block->parent;
  if (block->children == 0) blocks_.erase(hash);
  Block* const above = parent == 0 ? nullptr : blocks_.find(parent);
  if (above == nullptr) return true;
  --above->children;
  if (above->names > 0) return true;
  --orphans_;
  if (above->children == 0) blocks_.erase(parent);
  return true;
}

bool ExactIndex::holds(ChainHash hash) const {
  const Block* const block = blocks_.find(hash);
  return block != nullptr && block->names > 0;
}

std::size_t ExactIndex::held_tokens(const TokenChain& chain) const {
  if (block_size_ == 0 || chain.stride == 0 || block_size_ % chain.stride != 0) return 0;
  const std::size_t links = block_size_ / chain.stride;  // a block
  const auto holds_block = [&](std::size_t block) { return holds(chain.hashes[(block + 1) * links - 1]); };
  const std::size_t whole = chain.hashes.size() / links;
  std::size_t held = 0;
  if (orphans_ > 0) {
    while (held < whole && holds_block(held)) ++held;
    return held * block_size_;
  }
  // Held up to `held`, not held from `beyond` on.
  for (std::size_t beyond = whole + 1; beyond - held > 1;) {
    const std::size_t middle = held + (beyond - held) / 2;
    (holds_block(middle - 1) ? held : beyond) = middle;
  }
  return held * block_size_;
}

}  // namespace evenkeel::affinity
