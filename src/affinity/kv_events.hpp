#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace evenkeel::affinity {

/// An engine's own name of a full KV block: a hash of all tokens up to its end, cut to 64 bits. Names of two engines
/// have nothing in common, nor those of one engine before and after a restart.
using BlockName = std::uint64_t;

/// A row of full blocks, one behind another, that can be found from now on.
struct BlocksStored {
  std::vector<BlockName> blocks;
  std::optional<BlockName> parent;     ///< the block before the first; none: the row begins a prompt
  std::vector<std::uint32_t> tokens;   ///< of all of them: block size times blocks
  std::uint64_t adapter = 0;           ///< hash of the adapter's name; 0 = the model itself
  std::uint64_t extra = 0;             ///< hash of what else must be equal (images, salts); 0 = nothing
  std::optional<std::uint32_t> group;  ///< of KV blocks, in models that have several kinds of layers
  bool windowed = false;               ///< of layers that see a sliding window only
};

/// Evicted.
struct BlocksRemoved {
  std::vector<BlockName> blocks;
  std::optional<std::uint32_t> group;
};

/// The whole cache was emptied.
struct BlocksCleared {};

using KvEvent = std::variant<BlocksStored, BlocksRemoved, BlocksCleared>;

/// What one step of an engine did to its cache.
struct KvEventBatch {
  std::vector<KvEvent> events;
  std::optional<std::uint32_t> rank;
  std::uint32_t unknown = 0;    ///< events of a type that nobody knows here, or stored rows that contradict themselves
  std::uint32_t elsewhere = 0;  ///< events of blocks in other memory than the GPU's
};

}  // namespace evenkeel::affinity
