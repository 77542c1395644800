#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/margin_score.hpp"

namespace evenkeel::routing {

/// The best group of requests for one worker: among all nonempty subsets of `sizes` (prompt tokens, >= 0) with at most
/// `limit` (>= 1) members, one whose total has the highest score. Two ways that find the same score; both keep
/// their scratch.
class SubsetSearch {
 public:
  struct Best {
    double score = 0;
    std::span<const std::uint32_t> members;  ///< positions in `sizes`, ascending; until the next search
  };
  static constexpr std::size_t enumeration_limit = 12;

  /// The single member with the highest score, the first of equals.
  [[nodiscard]] Best single(std::span<const std::int64_t> sizes, const MarginScore& score);
  /// By looking at every subset: O(2^n log H), n <= enumeration_limit. Of equals the one whose latest member is
  /// earliest in `sizes`.
  [[nodiscard]] Best enumerate(std::span<const std::int64_t> sizes, std::int64_t limit, const MarginScore& score);
  /// By the totals that can be reached (bit sets, one a number of members): the score is affine between margins, so
  /// that only totals next to a margin, the least and the greatest need a look (arXiv 2605.06113). For n <= 65,535.
  /// O(n limit cap / 64) word operations, cap about the greatest margin plus the longest prompt, in tokens. Beyond
  /// 2^23 of them it searches as many of the first as that many allow, but at least the first 12.
  [[nodiscard]] Best reach(std::span<const std::int64_t> sizes, std::int64_t limit, const MarginScore& score);

 private:
  [[nodiscard]] std::int64_t largest_useful_total(std::span<const std::int64_t> sizes, std::size_t limit,
                                                  const MarginScore& score);
  void reach_totals(std::span<const std::int64_t> sizes, std::size_t limit);
  void join_item(std::size_t item, std::int64_t size, std::size_t count);
  void unite(std::size_t limit);
  [[nodiscard]] std::int64_t best_total(const MarginScore& score, double& best) const;
  void trace_back(std::span<const std::int64_t> sizes, std::int64_t total);

  std::vector<std::uint32_t> members_;
  std::vector<std::int64_t> sums_;
  std::vector<std::int64_t> sorted_;
  std::int64_t cap_ = 0;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> reached_;  ///< [count][word]: totals of exactly `count` members; row 0 is the empty set
  std::vector<std::uint64_t> any_;      ///< totals of one member or more
  std::vector<std::uint16_t> last_;     ///< [count][total]: the item that reached it first
};

}  // namespace evenkeel::routing
