#include "routing/joint.hpp"

#include <algorithm>

namespace evenkeel::routing {

void JointPolicy::plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now,
                       Random& random, std::vector<fleet::Placement>& placements) {
  const auto first = static_cast<std::ptrdiff_t>(placements.size());
  slots_.begin(waiting, fleet, random);
  begin(fleet, now);
  for (look(); !window_.empty(); look()) {
    picks_.clear();
    const Solution solution = solve(picks_);
    for (const Pick& pick : picks_) {
      const std::uint32_t request = window_[pick.request];
      const auto considered = static_cast<std::uint32_t>(waiting[request].candidates.size());
      placements.push_back({request, pick.worker, solution.reason, solution.cost, considered});
      charge(pick.worker, size(pick.request));
      slots_.admit(request, pick.worker);
    }
  }
  std::sort(placements.begin() + first, placements.end(),
            [](const fleet::Placement& a, const fleet::Placement& b) { return a.request < b.request; });
}

void JointPolicy::look() {
  window_.clear();
  if (!slots_.any()) return;
  const std::size_t limit = slots_.total() == 1 ? slots_.pool().size() : window_size_;
  for (const std::uint32_t request : slots_.pool()) {
    if (window_.size() == limit) return;
    const auto open = slots_.workers();
    if (std::any_of(open.begin(), open.end(),
                    [&](std::uint32_t worker) { return slots_.may_enter(request, worker); })) {
      window_.push_back(request);
    }
  }
}

}  // namespace evenkeel::routing
