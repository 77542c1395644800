#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "affinity/block_chain.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "gateway/body_skim.hpp"

namespace evenkeel::gateway {

/// What the beginnings of two prompts are told apart by beyond their text.
struct PrefixKey {
  ModelId model;           ///< an adapter is a model, too
  std::uint64_t salt = 0;  ///< of this process: a recorded chain tells nobody which texts were asked
};

/// The chain of the prompt that a whole body holds, into `chain`, which is emptied first: of the JSON as it stands,
/// without copying, the tools before the system text before the messages, as chat templates lay them out. At most
/// `most_bytes` of it are looked at. `tokens`: estimated, of the whole prompt; what a block stands for follows. False,
/// and no chain, where there are several prompts or none, or less than a block. Some 120 ns a KiB.
bool prompt_prefix(const BodySkim::Facts& facts, std::string_view body, PrefixKey key, Tokens tokens,
                   std::size_t most_bytes, affinity::PromptChain& chain);

}  // namespace evenkeel::gateway
