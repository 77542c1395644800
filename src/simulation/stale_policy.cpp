#include "simulation/stale_policy.hpp"

#include <algorithm>
#include <utility>

namespace evenkeel::simulation {

void StalePolicy::report(Report running_by_worker) {
  for (auto& worker : running_by_worker) std::ranges::sort(worker, {}, &fleet::RunningView::id);
  reports_.push_back(std::move(running_by_worker));
  if (reports_.size() > steps_ + 1) reports_.pop_front();
}

/// The last report that has arrived, and what the router itself has sent there since.
void StalePolicy::show(fleet::WorkerView& worker, std::vector<fleet::RunningView>& shown) const {
  shown.clear();
  if (!reports_.empty()) shown = reports_.front()[worker.id.value];
  const auto reported = static_cast<std::ptrdiff_t>(shown.size());
  for (fleet::RunningView since : worker.running) {
    const auto place =
        std::ranges::lower_bound(shown.begin(), shown.begin() + reported, since.id, {}, &fleet::RunningView::id);
    if (place != shown.begin() + reported && place->id == since.id) continue;
    since.generated = 0;
    shown.push_back(since);
  }
  worker.load.prompt_tokens = worker.load.generated_tokens = worker.load.queued_prompt = Tokens();
  for (const fleet::RunningView& each : shown) {
    worker.load.prompt_tokens += each.prompt_tokens;
    worker.load.generated_tokens += Tokens(each.generated);
    if (each.generated == 0) worker.load.queued_prompt += each.prompt_tokens;
  }
  worker.running = shown;
}

void StalePolicy::plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now,
                       Random& random, std::vector<fleet::Placement>& placements) {
  workers_.assign(fleet.workers.begin(), fleet.workers.end());
  shown_.resize(workers_.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) show(workers_[i], shown_[i]);
  fleet::FleetView old = fleet;
  old.workers = workers_;
  inner_->plan(waiting, old, now, random, placements);
}

}  // namespace evenkeel::simulation
