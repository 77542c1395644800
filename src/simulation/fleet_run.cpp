#include "simulation/fleet_run.hpp"

#include <algorithm>
#include <utility>

namespace evenkeel::simulation {

int FleetTally::most_on_one() const {
  return placed_on.empty() ? 0 : *std::max_element(placed_on.begin(), placed_on.end());
}

FleetRun::FleetRun(FleetWorld& world, std::vector<PlacementDesign*> designs, FleetSchedule schedule, Random random)
    : world_(world),
      designs_(std::move(designs)),
      schedule_(std::move(schedule)),
      arrivals_(random.split()),
      spread_(random.split()) {
  const planning::FleetPlan& plan = world_.plan();
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    double rate = 0;
    for (const planning::Group& group : plan.groups) {
      rate += static_cast<double>(group.nodes) * group.rate_per_node_s[m];
    }
    rate_of_model_.push_back(rate);
    rate_ += rate;
  }
  tally_.placed_on.assign(world_.size(), 0);
}

double FleetRun::factor_at(double t) const {
  double factor = 1;
  for (const planning::RateStep& step : schedule_.profile) {
    if (step.from_s <= t) factor = step.factor;
  }
  return factor;
}

/// By thinning (Lewis and Shedler 1979).
double FleetRun::next_arrival(double t) {
  double most = 1;
  for (const planning::RateStep& step : schedule_.profile) most = std::max(most, step.factor);
  while (t < schedule_.horizon_s) {
    t += arrivals_.exponential(1 / (rate_ * most));
    if (arrivals_.unit() * most < factor_at(t)) break;
  }
  return t;
}

std::uint32_t FleetRun::draw_model() {
  double left = arrivals_.unit() * rate_;
  for (std::uint32_t m = 0; m < rate_of_model_.size(); ++m) {
    left -= rate_of_model_[m];
    if (left < 0) return m;
  }
  return static_cast<std::uint32_t>(rate_of_model_.size() - 1);
}

void FleetRun::account(const HeavyTask& task, const PlacementAnswer& answer, double t, bool moved) {
  using What = PlacementAnswer::What;
  if (answer.what == What::waits) {
    pending_[task.id] = {task, moved};
    return;
  }
  if (schedule_.answered) schedule_.answered(task, answer, t);
  if (moved) {
    if (answer.what == What::refused) ++tally_.moves_refused;
    return;
  }
  if (answer.what == What::refused) {
    ++tally_.refused;
    return;
  }
  ++tally_.placed;
  ++tally_.placed_on[answer.node];
  tally_.latencies_s.push_back(answer.latency_s);
}

void FleetRun::arrive(double t) {
  const std::uint32_t model = draw_model();
  const HeavyTask task =
      draw_task(world_.plan().models[model], model, next_id_++, t, schedule_.immortal_probability, arrivals_);
  ++tally_.arrivals;
  account(task, designs_[spread_.below(designs_.size())]->submit(task, t), t, false);
}

void FleetRun::turn(double t) {
  std::vector<HeavyTask> moved;
  world_.turn(t, moved);
  std::vector<PlacementAnswer> late;
  for (PlacementDesign* design : designs_) design->turn(t, late);
  for (const PlacementAnswer& answer : late) {
    const auto pending = pending_.find(answer.task);
    if (pending == pending_.end()) continue;
    const Pending one = pending->second;
    pending_.erase(pending);
    account(one.task, answer, t, one.moved);
  }
  for (const HeavyTask& task : moved) {
    account(task, designs_[spread_.below(designs_.size())]->submit(task, t), t, true);
  }
  if (schedule_.each_turn) schedule_.each_turn(t);
}

FleetTally FleetRun::play() {
  double next = next_arrival(0);
  for (std::int64_t k = 1;; ++k) {
    const double at = std::min(schedule_.horizon_s, static_cast<double>(k) * schedule_.turn_s);
    for (; next < at; next = next_arrival(next)) arrive(next);
    turn(at);
    if (at >= schedule_.horizon_s) break;
  }
  tally_.waiting = pending_.size();
  return std::move(tally_);
}

}  // namespace evenkeel::simulation
