#include "redline/headroom.hpp"

#include <algorithm>

namespace evenkeel::redline {

Amounts corrected(const Snapshot& snapshot, const Amounts& debit, Time now) {
  Amounts left = snapshot.headroom;
  const double age_s = std::max(0.0, to_seconds(now - snapshot.stamp));
  left[Resource::kv_memory] -= snapshot.growth_per_s * age_s;
  left -= debit;
  return left;
}

Dominant dominant(const Amounts& capacity, const Amounts& headroom, const Amounts& demand) {
  Dominant least;
  for (const Resource each : all_resources) {
    if (capacity[each] <= 0) continue;
    const double fraction = (headroom[each] - demand[each]) / capacity[each];
    if (fraction < least.fraction) least = {each, fraction};
  }
  return least;
}

void Debits::placed(RequestId request, const Amounts& demand) {
  entries_.push_back({request, demand});
  total_ += demand;
}

void Debits::acknowledged(RequestId request, Time at) {
  for (Entry& entry : entries_) {
    if (entry.request == request) entry.acknowledged = at;
  }
}

void Debits::forget(RequestId request) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.request == request; });
  total_ = {};  // summed anew, so that rounding does not pile up
  for (const Entry& entry : entries_) total_ += entry.demand;
}

void Debits::seen(Time stamp) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.acknowledged < stamp; });
  total_ = {};
  for (const Entry& entry : entries_) total_ += entry.demand;
}

}  // namespace evenkeel::redline
