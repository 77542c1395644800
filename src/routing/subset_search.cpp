#include "routing/subset_search.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace evenkeel::routing {

namespace {
constexpr std::size_t word_operations = std::size_t{1} << 23;

/// Nearest set bit at or below `from`; -1 if there is none.
std::int64_t set_bit_below(std::span<const std::uint64_t> bits, std::int64_t from) {
  auto word = static_cast<std::size_t>(from / 64);
  std::uint64_t kept = bits[word] & (~std::uint64_t{0} >> (63 - from % 64));
  while (kept == 0) {
    if (word == 0) return -1;
    kept = bits[--word];
  }
  return static_cast<std::int64_t>(word * 64 + 63) - std::countl_zero(kept);
}

/// Nearest set bit at or above `from`; -1 if there is none.
std::int64_t set_bit_above(std::span<const std::uint64_t> bits, std::int64_t from) {
  auto word = static_cast<std::size_t>(from / 64);
  std::uint64_t kept = bits[word] & (~std::uint64_t{0} << (from % 64));
  while (kept == 0) {
    if (++word == bits.size()) return -1;
    kept = bits[word];
  }
  return static_cast<std::int64_t>(word * 64) + std::countr_zero(kept);
}
}  // namespace

SubsetSearch::Best SubsetSearch::single(std::span<const std::int64_t> sizes, const MarginScore& score) {
  std::size_t best = 0;
  double best_score = score(sizes[0]);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const double value = score(sizes[i]);
    if (!clearly_above(value, best_score)) continue;
    best = i;
    best_score = value;
  }
  members_.assign(1, static_cast<std::uint32_t>(best));
  return {best_score, members_};
}

SubsetSearch::Best SubsetSearch::enumerate(std::span<const std::int64_t> sizes, std::int64_t limit,
                                           const MarginScore& score) {
  sums_.assign(std::size_t{1} << sizes.size(), 0);
  std::size_t best = 1;
  double best_score = score(sizes[0]);
  for (std::size_t set = 1; set < sums_.size(); ++set) {
    sums_[set] = sums_[set & (set - 1)] + sizes[static_cast<std::size_t>(std::countr_zero(set))];
    if (std::popcount(set) > limit) continue;
    const double value = score(sums_[set]);
    if (!clearly_above(value, best_score)) continue;
    best = set;
    best_score = value;
  }
  members_.clear();
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    if ((best >> i & 1) != 0) members_.push_back(i);
  }
  return {best_score, members_};
}

SubsetSearch::Best SubsetSearch::reach(std::span<const std::int64_t> sizes, std::int64_t limit,
                                       const MarginScore& score) {
  if (limit == 1 || sizes.size() == 1) return single(sizes, score);
  const std::size_t counts = std::min(sizes.size(), static_cast<std::size_t>(limit));
  cap_ = largest_useful_total(sizes, counts, score);
  words_ = static_cast<std::size_t>(cap_ / 64) + 1;
  // Every item costs a pass over the words, every total once the note of how it was reached.
  const std::size_t passes = word_operations / counts / words_;
  const std::size_t wide = passes > 64 ? passes - 64 : 0;
  if (wide < std::min(sizes.size(), enumeration_limit)) {
    return enumerate(sizes.first(std::min(sizes.size(), enumeration_limit)), limit, score);
  }
  sizes = sizes.first(std::min(sizes.size(), wide));
  reach_totals(sizes, counts);
  unite(counts);
  double best = 0;
  const std::int64_t total = best_total(score, best);
  trace_back(sizes, total);
  return {best, members_};
}

/// Beyond the largest margin the score never rises (beta >= 1), so a total that stays there without one of its members
/// is no better than without it.
std::int64_t SubsetSearch::largest_useful_total(std::span<const std::int64_t> sizes, std::size_t limit,
                                                const MarginScore& score) {
  sorted_.assign(sizes.begin(), sizes.end());
  std::partial_sort(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(limit), sorted_.end(),
                    std::greater<>());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < limit; ++i) sum += sorted_[i];
  return std::min(sum, std::max<std::int64_t>(0, score.margins().back()) + sorted_[0] + 1);
}

void SubsetSearch::reach_totals(std::span<const std::int64_t> sizes, std::size_t limit) {
  reached_.assign((limit + 1) * words_, 0);
  reached_[0] = 1;
  last_.resize((limit + 1) * words_ * 64);
  for (std::size_t item = 0; item < sizes.size(); ++item) {
    for (std::size_t count = std::min(item + 1, limit); count > 0; --count) join_item(item, sizes[item], count);
  }
}

/// reached[count] |= reached[count - 1] << size, up to cap; what is new is noted as reached by this item.
void SubsetSearch::join_item(std::size_t item, std::int64_t size, std::size_t count) {
  const std::uint64_t* const from = reached_.data() + (count - 1) * words_;
  std::uint64_t* const to = reached_.data() + count * words_;
  std::uint16_t* const last = last_.data() + count * words_ * 64;
  const auto skip = static_cast<std::size_t>(size / 64);
  const int shift = static_cast<int>(size % 64);
  const std::uint64_t within_cap = ~std::uint64_t{0} >> (63 - cap_ % 64);
  for (std::size_t word = skip; word < words_; ++word) {
    std::uint64_t moved = from[word - skip] << shift;
    if (shift > 0 && word > skip) moved |= from[word - skip - 1] >> (64 - shift);
    if (word + 1 == words_) moved &= within_cap;
    std::uint64_t fresh = moved & ~to[word];
    to[word] |= fresh;
    for (; fresh != 0; fresh &= fresh - 1) {
      last[word * 64 + static_cast<std::size_t>(std::countr_zero(fresh))] = static_cast<std::uint16_t>(item);
    }
  }
}

void SubsetSearch::unite(std::size_t limit) {
  any_.assign(words_, 0);
  for (std::size_t count = 1; count <= limit; ++count) {
    for (std::size_t word = 0; word < words_; ++word) any_[word] |= reached_[count * words_ + word];
  }
}

/// The least total, those on both sides of every margin, the greatest: one of them has the highest score.
std::int64_t SubsetSearch::best_total(const MarginScore& score, double& best) const {
  std::int64_t chosen = set_bit_above(any_, 0);
  best = score(chosen);
  const auto look = [&](std::int64_t total) {
    if (total < 0) return;
    const double value = score(total);
    if (!clearly_above(value, best)) return;
    best = value;
    chosen = total;
  };
  std::int64_t previous = -1;
  for (const std::int64_t margin : score.margins()) {
    if (margin == previous || margin > cap_) continue;
    previous = margin;
    look(set_bit_below(any_, margin));
    look(set_bit_above(any_, margin));
  }
  look(set_bit_below(any_, cap_));
  return chosen;
}

/// The item that reached a total first was added to a total that earlier items had reached: so the items noted on the
/// way back are all different.
void SubsetSearch::trace_back(std::span<const std::int64_t> sizes, std::int64_t total) {
  std::size_t count = 1;
  while ((reached_[count * words_ + static_cast<std::size_t>(total / 64)] >> (total % 64) & 1) == 0) ++count;
  members_.clear();
  for (; count > 0; --count) {
    const std::uint16_t item = last_[count * words_ * 64 + static_cast<std::size_t>(total)];
    members_.push_back(item);
    total -= sizes[item];
  }
  std::reverse(members_.begin(), members_.end());
}

}  // namespace evenkeel::routing
