#include "fleet/foreign_load.hpp"

#include <algorithm>
#include <iterator>

namespace evenkeel::fleet {

void ForeignLoad::ended(Time began, Time now) {
  if (const auto at = open_.find(began); at != open_.end()) open_.erase(at);
  ended_.push_back(now);
  while (now - ended_.front() > longest_ + slack_) ended_.pop_front();
}

double ForeignLoad::foreign(double shown, Time asked) const {
  const auto since = std::ranges::lower_bound(ended_, asked - slack_);
  const auto ours = static_cast<double>(open_.size()) + static_cast<double>(ended_.end() - since);
  return std::max(0.0, shown - ours);
}

std::int64_t ForeignLoad::open_since(Time when) const { return std::distance(open_.begin(), open_.upper_bound(when)); }

}  // namespace evenkeel::fleet
