#include "calibrate/foreign_load.hpp"

#include <algorithm>

namespace evenkeel::calibrate {

namespace {
constexpr Duration kept = std::chrono::minutes(1);
}  // namespace

void ForeignLoad::ended(Time began, Time now) {
  if (const auto at = open_.find(began); at != open_.end()) open_.erase(at);
  ended_.push_back(now);
  while (now - ended_.front() > kept) ended_.pop_front();
}

double ForeignLoad::foreign(double shown, Time asked) const {
  const auto since = std::ranges::lower_bound(ended_, asked - slack_);
  const auto ours = static_cast<double>(open_.size()) + static_cast<double>(ended_.end() - since);
  return std::max(0.0, shown - ours);
}

}  // namespace evenkeel::calibrate
