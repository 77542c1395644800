#include "workload/prefix_store.hpp"

#include <algorithm>
#include <cassert>

namespace evenkeel::workload {

PrefixList PrefixStore::extend(PrefixList base, std::uint32_t head, std::span<const std::uint64_t> own) {
  assert(head == 0 || head <= size(base));
  // Whatever ends inside the base's own head is a head of what that one builds on: keeps chains short.
  while (base != no_prefix && head <= runs_[base].head) base = head == 0 ? no_prefix : runs_[base].base;
  runs_.push_back(Run{base, head, ids_.size(), static_cast<std::uint32_t>(own.size())});
  ids_.insert(ids_.end(), own.begin(), own.end());
  return static_cast<PrefixList>(runs_.size() - 1);
}

std::uint32_t PrefixStore::size(PrefixList list) const {
  return list == no_prefix ? 0 : runs_[list].head + runs_[list].own;
}

std::vector<std::uint64_t> PrefixStore::read(PrefixList list) const {
  std::vector<std::uint64_t> ids(size(list));
  auto wanted = static_cast<std::uint32_t>(ids.size());  // ids before this place are still missing
  while (list != no_prefix && wanted > 0) {
    const Run& run = runs_[list];
    if (wanted > run.head) {
      const auto* first = ids_.data() + run.begin;
      std::copy(first, first + (wanted - run.head), ids.begin() + run.head);
      wanted = run.head;
    }
    list = run.base;
  }
  return ids;
}

}  // namespace evenkeel::workload
