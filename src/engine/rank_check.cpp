// The recount of a rank's books, kept apart from the code that keeps them.
#include <fmt/format.h>

#include "engine/rank.hpp"

namespace evenkeel::engine {
namespace {

Result<void> equal(const char* what, std::int64_t kept, std::int64_t counted) {
  if (kept == counted) return {};
  return failure(fmt::format("{}: the books say {}, a recount {}", what, kept, counted));
}

}  // namespace

Result<void> Rank::check() const {
  std::int64_t blocks = 0;
  std::int64_t tokens = 0;
  for (const Slot slot : running_) {
    const Sequence& each = sequences_[slot];
    if (!each.running) return failure(fmt::format("request {} runs without being marked so", each.id));
    if (each.generated >= each.fate.output) return failure(fmt::format("request {} outlives its end", each.id));
    if (each.missing() < 1) return failure(fmt::format("request {} has nothing left to compute", each.id));
    if (auto ok = equal("blocks of a running request", each.blocks, blocks_for(each.computed + each.scheduled)); !ok) {
      return ok;
    }
    if (!stepping_ && each.scheduled != 0) return failure(fmt::format("request {} computes between steps", each.id));
    blocks += each.blocks;
    tokens += each.computed;
  }
  for (const Slot slot : waiting_) {
    const Sequence& each = sequences_[slot];
    if (each.running || each.blocks != 0 || each.computed != 0 || each.scheduled != 0) {
      return failure(fmt::format("request {} waits and still holds something", each.id));
    }
  }
  for (const Slot slot : arrived_) {
    const Sequence& each = sequences_[slot];
    if (each.running || each.pulling || !each.kv_given || each.computed != 0) {
      return failure(fmt::format("request {} has not pulled", each.id));
    }
    if (auto ok = equal("blocks of a request that has pulled", each.blocks, blocks_for(each.prompt)); !ok) return ok;
    blocks += each.blocks;
  }
  for (const Slot slot : pulling_) {
    const Sequence& each = sequences_[slot];
    if (!each.pulling || each.computed != 0) return failure(fmt::format("request {} does not pull", each.id));
    if (auto ok = equal("blocks of a pulling request", each.blocks, blocks_for(each.prompt)); !ok) return ok;
    blocks += each.blocks;
  }
  std::int64_t kept = 0;
  for (const Slot slot : kept_) {
    const Sequence& each = sequences_[slot];
    if (!each.kept || each.computed != 0) return failure(fmt::format("request {} keeps what it should not", each.id));
    kept += each.blocks;
  }
  if (auto ok = equal("kept blocks", kept_blocks_, kept); !ok) return ok;
  blocks += kept;
  if (free_blocks_ < 0) return failure(fmt::format("free blocks: {}, below 0", free_blocks_));
  const auto held = static_cast<std::int64_t>(running_.size() + kept_.size()) + waiting();
  if (static_cast<std::int64_t>(running_.size()) > config_.slots) return failure("more requests run than slots");
  if (cache_) {  // blocks may be shared: who holds what is recounted there
    if (auto ok = cache_->check(); !ok) return ok;
    blocks = config_.usable_blocks() - cache_->free_blocks();
  }
  return equal("used blocks", config_.usable_blocks() - free_blocks_, blocks)
      .and_then([&] { return equal("KV tokens", kv_tokens_.value(), tokens); })
      .and_then([&] { return equal("ids", static_cast<std::int64_t>(index_.size()), held); })
      .and_then([&] {
        return equal("slab places in use", static_cast<std::int64_t>(sequences_.size() - vacant_.size()), held);
      });
}

}  // namespace evenkeel::engine
