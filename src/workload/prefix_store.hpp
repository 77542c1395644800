#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace evenkeel::workload {

/// Which list of prefix block ids of a PrefixStore a request has.
using PrefixList = std::uint32_t;
inline constexpr PrefixList no_prefix = 0xFFFFFFFFU;

/// Lists of block ids that mostly continue one another (the turns of a conversation): a list is a head of an
/// earlier list plus ids of its own, so memory grows with the new ids only. Ids are equal in two lists if and
/// only if they stand for the same block.
class PrefixStore {
 public:
  [[nodiscard]] PrefixList add(std::span<const std::uint64_t> ids) { return extend(no_prefix, 0, ids); }
  /// The first `head` ids of `base` (which must have as many), then `own`.
  [[nodiscard]] PrefixList extend(PrefixList base, std::uint32_t head, std::span<const std::uint64_t> own);
  [[nodiscard]] std::uint32_t size(PrefixList list) const;
  /// The ids in order; empty for no_prefix. O(length + lists it builds on).
  [[nodiscard]] std::vector<std::uint64_t> read(PrefixList list) const;

 private:
  struct Run {
    PrefixList base;
    std::uint32_t head;
    std::uint64_t begin;
    std::uint32_t own;
  };
  std::vector<Run> runs_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace evenkeel::workload
