#include "routing/automatic.hpp"

#include <algorithm>

namespace evenkeel::routing {

void Automatic::plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now,
                     Random& random, std::vector<fleet::Placement>& placements) {
  const bool peers = std::any_of(fleet.workers.begin(), fleet.workers.end(),
                                 [](const fleet::WorkerView& worker) { return worker.peer; });
  const bool coupled = std::all_of(fleet.workers.begin(), fleet.workers.end(),
                                   [](const fleet::WorkerView& worker) { return worker.group != 0; });
  if (peers) {
    acting_ = &late_tail_;
  } else {
    acting_ = coupled ? static_cast<Policy*>(&balance_) : &least_wait_;
  }
  acting_->plan(waiting, fleet, now, random, placements);
}

}  // namespace evenkeel::routing
