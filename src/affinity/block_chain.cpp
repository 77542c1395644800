#include "affinity/block_chain.hpp"

#define XXH_INLINE_ALL  // links are short: a call would cost a good part of the hash
#include <xxhash.h>

#include "base/random.hpp"

namespace evenkeel::affinity {

void append_text_chain(std::string_view text, std::size_t block_bytes, std::uint64_t seed,
                       std::vector<ChainHash>& chain) {
  ChainHash hash = mix64(seed);
  for (std::size_t link = 0; link_blocks(link) <= text.size() / block_bytes; ++link) {
    const std::size_t bytes = link_blocks(link) * block_bytes;
    hash = XXH3_64bits_withSeed(text.data(), bytes, hash);
    chain.push_back(hash);
    text.remove_prefix(bytes);
  }
}

void append_id_chain(std::span<const std::uint64_t> ids, std::uint64_t seed, std::vector<ChainHash>& chain) {
  ChainHash hash = mix64(seed);
  for (std::size_t link = 0; link_blocks(link) <= ids.size(); ++link) {
    for (const std::uint64_t id : ids.first(link_blocks(link))) hash = mix64(hash ^ mix64(id));
    chain.push_back(hash);
    ids = ids.subspan(link_blocks(link));
  }
}

}  // namespace evenkeel::affinity
