#include "affinity/prefix_index.hpp"

#include <algorithm>
#include <bit>

namespace evenkeel::affinity {

// --- who holds a link ----------------------------------------------------------------------------------------

void PrefixIndex::Holders::rebuild(std::size_t blocks, std::size_t workers, const std::vector<LinkLru>& of) {
  stride_ = 1 + std::max<std::size_t>(1, (workers + 63) / 64);
  slots_ = slots_for(blocks);
  table_.assign(slots_ * stride_, 0);
  table_.shrink_to_fit();
  for (std::size_t worker = 0; worker < of.size(); ++worker) {
    of[worker].for_each([&](ChainHash hash) { set(hash, worker); });
  }
}

bool PrefixIndex::Holders::empty(std::size_t slot) const {
  const std::uint64_t* bits = at(slot) + 1;
  return std::all_of(bits, bits + words(), [](std::uint64_t word) { return word == 0; });
}

/// The slot of the link, or the empty one where it would go.
std::size_t PrefixIndex::Holders::find(ChainHash hash) const {
  std::size_t slot = home_of(hash, slots_);
  while (*at(slot) != hash && !empty(slot)) {
    if (++slot == slots_) slot = 0;
  }
  return slot;
}

void PrefixIndex::Holders::set(ChainHash hash, std::size_t worker) {
  std::uint64_t* const slot = at(find(hash));
  slot[0] = hash;
  slot[1 + worker / 64] |= std::uint64_t{1} << (worker % 64);
}

void PrefixIndex::Holders::clear(ChainHash hash, std::size_t worker) {
  const std::size_t slot = find(hash);
  at(slot)[1 + worker / 64] &= ~(std::uint64_t{1} << (worker % 64));
  if (!empty(slot)) return;
  close_gap(
      slot, slots_, [&](std::size_t i) { return empty(i); }, [&](std::size_t i) { return home_of(*at(i), slots_); },
      [&](std::size_t to, std::size_t from) { std::copy_n(at(from), stride_, at(to)); },
      [&](std::size_t i) { std::fill_n(at(i), stride_, 0); });
}

std::uint64_t PrefixIndex::Holders::word(ChainHash hash, std::size_t word) const {
  const std::uint64_t* const slot = at(find(hash));
  return slot[0] == hash ? slot[1 + word] : 0;
}

// --- the index -----------------------------------------------------------------------------------------------

void PrefixIndex::set_capacity(WorkerId worker, std::size_t blocks) {
  if (worker.value >= held_.size()) {
    wanted_.resize(worker.value + 1);
    held_.resize(worker.value + 1);
  }
  wanted_[worker.value] = blocks;
  share_out();
}

/// Gives each worker what it wants, or an equal share if that is less: what the modest leave is shared by the others.
void PrefixIndex::share_out() {
  std::vector<std::size_t> ascending = wanted_;
  std::sort(ascending.begin(), ascending.end());
  std::size_t left = options_.total_blocks;
  std::size_t share = 0;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    share = std::max(share, std::min(ascending[i], left / (ascending.size() - i)));
    left -= std::min(ascending[i], share);
  }
  std::size_t total = 0;
  for (std::size_t worker = 0; worker < held_.size(); ++worker) {
    const std::size_t capacity = std::min(wanted_[worker], share);
    if (capacity != held_[worker].capacity()) held_[worker].resize(capacity);
    total += capacity;
  }
  holders_.rebuild(total, held_.size(), held_);
}

void PrefixIndex::forget(WorkerId worker) {
  if (worker.value >= held_.size()) return;
  held_[worker.value].for_each([&](ChainHash hash) { holders_.clear(hash, worker.value); });
  held_[worker.value].clear();
}

void PrefixIndex::drop_oldest(std::size_t worker) {
  holders_.clear(held_[worker].oldest()->hash, worker);
  held_[worker].drop_oldest();
}

void PrefixIndex::insert(WorkerId worker, std::span<const ChainHash> chain, Time now) {
  if (worker.value >= held_.size()) return;
  LinkLru& held = held_[worker.value];
  std::size_t links = chain.size();
  while (chain_blocks(links) > held.capacity()) --links;
  // From its end, so that the beginning is the newest and goes last.
  constexpr std::size_t ahead = 4;
  for (std::size_t i = links; i-- > 0;) {
    if (i >= ahead) {
      held.prefetch(chain[i - ahead]);
      holders_.prefetch(chain[i - ahead]);
    }
    if (held.touch(chain[i], now)) continue;
    while (held.blocks() + link_blocks(i) > held.capacity()) drop_oldest(worker.value);
    held.add(chain[i], link_blocks(i), now);
    holders_.set(chain[i], worker.value);
  }
}

void PrefixIndex::expected_hit(std::span<const ChainHash> chain, std::span<std::uint32_t> matched) const {
  std::fill(matched.begin(), matched.end(), 0);
  if (chain.empty() || held_.empty()) return;
  for (std::size_t word = 0; word < holders_.words(); ++word) {
    const std::uint64_t at_first = holders_.word(chain.front(), word);
    if (at_first != 0) bisect(chain, word, at_first, 1, chain.size() + 1, matched);
  }
}

/// All of `who` hold at least `low` links and fewer than `high`.
void PrefixIndex::bisect(std::span<const ChainHash> chain, std::size_t word, std::uint64_t who, std::size_t low,
                         std::size_t high, std::span<std::uint32_t> matched) const {
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    const std::uint64_t longer = who & holders_.word(chain[middle - 1], word);
    if (longer != 0 && longer != who) bisect(chain, word, who & ~longer, low, middle, matched);
    if (longer == 0) {
      high = middle;
    } else {
      low = middle;
      who = longer;
    }
  }
  for (; who != 0; who &= who - 1) {
    const std::size_t worker = word * 64 + static_cast<std::size_t>(std::countr_zero(who));
    if (worker < matched.size()) matched[worker] = static_cast<std::uint32_t>(chain_blocks(low));
  }
}

bool PrefixIndex::expire(Time now, std::size_t most) {
  const Time limit = now - options_.lifetime;
  for (std::size_t looked = 0; looked < held_.size(); ++looked) {
    if (next_to_expire_ >= held_.size()) next_to_expire_ = 0;
    for (auto oldest = held_[next_to_expire_].oldest(); oldest && oldest->touched < limit;
         oldest = held_[next_to_expire_].oldest()) {
      if (most-- == 0) return true;
      drop_oldest(next_to_expire_);
    }
    ++next_to_expire_;
  }
  return false;
}

std::size_t PrefixIndex::blocks(WorkerId worker) const {
  return worker.value < held_.size() ? held_[worker.value].blocks() : 0;
}

std::size_t PrefixIndex::capacity(WorkerId worker) const {
  return worker.value < held_.size() ? held_[worker.value].capacity() : 0;
}

std::size_t PrefixIndex::memory_bytes() const {
  double bytes = static_cast<double>(holders_.bytes());
  for (const LinkLru& each : held_) bytes += static_cast<double>(each.capacity()) * LinkLru::bytes_per_block();
  return static_cast<std::size_t>(bytes);
}

}  // namespace evenkeel::affinity
