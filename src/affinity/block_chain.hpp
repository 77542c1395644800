#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace evenkeel::affinity {

// A prompt is a row of blocks of equal size; what of it may be found in a cache is told at the end of some of them. A
// chain is the hashes there, one a link. A link covers one block at the beginning, and twice as many in each further
// doubling of the length, so that a prompt of a megabyte has 256 links of 256 bytes to 16 KiB in place of 4,096
// blocks. What two prompts share is undercounted by a link at most: by 3 % of it, or a block if that is more.

/// Hash of everything up to the end of a link. Equal hashes mean equal prompts so far, but for collisions of 64 bits
/// (at a million links one chance in 37 million; the price is a wrong guess).
using ChainHash = std::uint64_t;

/// The beginning of a prompt as a router knows it.
struct PromptChain {
  std::vector<ChainHash> links;
  double block_tokens = 0;  ///< tokens that a block stands for
};

/// Links of one block each at the beginning of a chain.
inline constexpr std::size_t single_links = 64;

/// Blocks that link `link`, from 0, covers.
[[nodiscard]] constexpr std::size_t link_blocks(std::size_t link) {
  return link < single_links ? 1 : std::size_t{2} << ((link - single_links) / (single_links / 2));
}

/// Blocks that the first `links` links cover together.
[[nodiscard]] constexpr std::size_t chain_blocks(std::size_t links) {
  if (links <= single_links) return links;
  const std::size_t beyond = links - single_links;
  const std::size_t doublings = beyond / (single_links / 2);
  return (single_links << doublings) + (beyond % (single_links / 2)) * (std::size_t{2} << doublings);
}

/// Bytes of text a block, unless said otherwise: some 64 tokens of English, four KV blocks of vLLM. Half the size would
/// double memory and the cost of every placement, and save 16 tokens of undercount in short prompts: a third of a
/// millisecond of prefill.
inline constexpr std::size_t default_block_bytes = 256;

/// Appends the links of `text`; what lies behind its last whole link has none. Chains of different seeds have nothing
/// in common: the seed carries what else must be equal for KV to be reused (model, adapter, salt). `block_bytes` > 0.
/// XXH3 over each link, seeded with the hash before it: several GB/s.
void append_text_chain(std::string_view text, std::size_t block_bytes, std::uint64_t seed,
                       std::vector<ChainHash>& chain);
/// Of the parts as if they stood one behind another.
void append_text_chain(std::span<const std::string_view> parts, std::size_t block_bytes, std::uint64_t seed,
                       std::vector<ChainHash>& chain);

/// As above of blocks that have ids already: of a trace, or tokens.
void append_id_chain(std::span<const std::uint64_t> ids, std::uint64_t seed, std::vector<ChainHash>& chain);

}  // namespace evenkeel::affinity
