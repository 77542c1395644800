#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "redline/resources.hpp"

namespace evenkeel::redline {

/// What was last known of one worker. A capacity of 0 or less: that resource is not known there, and no rule looks at
/// it.
struct Snapshot {
  Amounts capacity;
  Amounts headroom;         ///< capacity less what is used, when it was looked
  double growth_per_s = 0;  ///< of KV memory, by what is resident
  Time stamp{};             ///< when it was looked
};

/// The resource that is shortest, as a share of its capacity; 1 and kv_memory where nothing is known.
struct Dominant {
  Resource resource = Resource::kv_memory;
  double fraction = 1;
};

/// Headroom as it is now: what was seen, less what residents have grown since (KV memory only) and what was placed
/// since and cannot have been seen yet.
[[nodiscard]] Amounts corrected(const Snapshot& snapshot, const Amounts& debit, Time now);

/// min over r of (headroom_r - demand_r) / capacity_r: dominant share after the projected admission, as in dominant
/// resource fairness (Ghodsi et al. 2011) but of what is left. Negative if the demand does not fit.
[[nodiscard]] Dominant dominant(const Amounts& capacity, const Amounts& headroom, const Amounts& demand);

/// Own placements that a snapshot cannot show yet. Each is dropped when a snapshot comes that was taken after the
/// placement was acknowledged; until then it counts. Grows with what is placed between two snapshots.
class Debits {
 public:
  /// Nothing is dropped for it before acknowledged() names it.
  void placed(RequestId request, const Amounts& demand);
  void acknowledged(RequestId request, Time at);
  /// It was refused, or has ended before it was seen.
  void forget(RequestId request);
  void seen(Time stamp);
  [[nodiscard]] const Amounts& total() const { return total_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    RequestId request;
    Amounts demand;
    Time acknowledged = Time::max();
  };
  std::vector<Entry> entries_;
  Amounts total_;
};

}  // namespace evenkeel::redline
