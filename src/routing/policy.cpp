#include "routing/policy.hpp"

namespace evenkeel::routing {

void PerRequestPolicy::plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time,
                            Random& random, std::vector<fleet::Placement>& placements) {
  if (waiting.size() == 1) {  // nothing to charge: the view is used as it is
    const Choice choice = choose(waiting[0], waiting[0].candidates, fleet, random);
    placements.push_back(
        {0, choice.worker, choice.reason, choice.score, static_cast<std::uint32_t>(waiting[0].candidates.size())});
    return;
  }
  charged_.assign(fleet.workers.begin(), fleet.workers.end());
  const fleet::FleetView view{charged_, fleet.prompt_weight, fleet.step};
  for (std::uint32_t i = 0; i < waiting.size(); ++i) {
    open_.clear();
    for (const std::uint32_t index : waiting[i].candidates) {
      if (charged_[index].free_slots() > 0) open_.push_back(index);
    }
    if (open_.empty()) continue;
    const Choice choice = choose(waiting[i], open_, view, random);
    placements.push_back({i, choice.worker, choice.reason, choice.score, static_cast<std::uint32_t>(open_.size())});
    fleet::Load& load = charged_[choice.worker].load;
    load.in_flight += 1;
    load.prompt_tokens += waiting[i].prompt_tokens;
    load.queued_prompt += waiting[i].to_compute(choice.worker);
  }
}

}  // namespace evenkeel::routing
