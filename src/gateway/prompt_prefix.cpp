#include "gateway/prompt_prefix.hpp"

#include <algorithm>
#include <array>

#include "base/random.hpp"

namespace evenkeel::gateway {

bool prompt_prefix(const BodySkim::Facts& facts, std::string_view body, PrefixKey key, Tokens tokens,
                   std::size_t most_bytes, affinity::PromptChain& chain) {
  using affinity::default_block_bytes;
  chain.links.clear();
  if (facts.list_prompts != 1 || facts.odd_salt) return false;
  std::array<std::string_view, 3> parts;
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const BodySkim::Range& range : {facts.tools, facts.preface, facts.text}) {
    parts[count] = body.substr(range.begin, range.end - range.begin);
    bytes += parts[count++].size();
  }
  if (std::min(bytes, most_bytes) < default_block_bytes || parts.back().empty()) return false;
  chain.block_tokens = tokens.as_double() * static_cast<double>(default_block_bytes) / static_cast<double>(bytes);
  std::size_t left = most_bytes;
  for (std::string_view& part : parts) {
    part = part.substr(0, left);
    left -= part.size();
  }
  const std::uint64_t seed = mix64(key.salt ^ mix64(facts.salt + key.model.value));
  affinity::append_text_chain(parts, default_block_bytes, seed, chain.links);
  return true;
}

}  // namespace evenkeel::gateway
