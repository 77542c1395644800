#include "emulator/lease_table.hpp"

#include <algorithm>
#include <cassert>

namespace evenkeel::emulator {

std::string_view name_of(LeaseTable::Standing standing) {
  switch (standing) {
    case LeaseTable::Standing::held: return "held";
    case LeaseTable::Standing::reused: return "reused";
    case LeaseTable::Standing::expired: return "expired";
    case LeaseTable::Standing::unknown: return "unknown";
  }
  return "";
}

void LeaseTable::open(const std::string& name, Kept kept, Time now) {
  const Time until = now + lease_;
  [[maybe_unused]] const bool fresh = open_.emplace(name, Lease{kept, until}).second;
  assert(fresh);
  by_expiry_.emplace(until, name);
}

LeaseTable::Found LeaseTable::end(const std::string& name, bool pulled) {
  const auto found = open_.find(name);
  if (found == open_.end()) {
    const auto before = ended_.find(name);
    return before == ended_.end() ? Found{} : before->second;
  }
  const Lease lease = found->second;
  by_expiry_.erase({lease.until, name});
  open_.erase(found);
  if (pulled) remember(name, {Standing::reused, lease.kept});
  return {Standing::held, lease.kept};
}

bool LeaseTable::renew(const std::string& name, Time now) {
  const auto found = open_.find(name);
  if (found == open_.end()) return false;
  Lease& lease = found->second;
  const Time until = std::max(lease.until, now + lease_ * 2 / 3);
  by_expiry_.erase({lease.until, name});
  by_expiry_.emplace(until, name);
  lease.until = until;
  return true;
}

std::vector<LeaseTable::Kept> LeaseTable::expire(Time now) {
  std::vector<Kept> freed;
  while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) {
    const std::string name = by_expiry_.begin()->second;
    by_expiry_.erase(by_expiry_.begin());
    const Kept kept = open_.at(name).kept;
    open_.erase(name);
    remember(name, {Standing::expired, kept});
    freed.push_back(kept);
  }
  return freed;
}

std::optional<Time> LeaseTable::next_expiry() const {
  if (by_expiry_.empty()) return std::nullopt;
  return by_expiry_.begin()->first;
}

void LeaseTable::remember(const std::string& name, Found how) {
  ended_.insert_or_assign(name, how);
  ended_order_.push_back(name);
  if (ended_order_.size() <= most_remembered) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

}  // namespace evenkeel::emulator
