#include "simulation/window.hpp"

#include <algorithm>
#include <cmath>

#include "simulation/barrier.hpp"

namespace evenkeel::simulation {

std::int64_t warm_up_steps(const Setting& setting) {
  if (setting.steps == 0) return 0;
  const double tokens_a_step = (1 + static_cast<double>(setting.engine.decode_growth)) / 2;
  return std::llround(3 * setting.lengths.mean_output() / tokens_a_step);
}

Window::Window(const Setting& setting)
    : setting_(setting), warm_up_(warm_up_steps(setting)), meter_(setting.workers, setting.slots_total()) {
  for (std::size_t worker = 0; worker < setting.workers && !setting.equal_speeds(); ++worker) {
    step_times_.push_back(setting.step_time(worker));
  }
  if (setting.trajectory_points == 0) return;
  const auto points = static_cast<std::int64_t>(setting.trajectory_points);
  point_every_ = std::max<std::int64_t>(1, (setting.steps + points - 1) / points);
  trajectories_.loads.resize(setting.workers);
}

void Window::consider(std::int64_t steps, Time now, bool nothing_comes) {
  if (setting_.steps > 0) done_ = nothing_comes || (measuring_ && steps - first_step_ >= setting_.steps);
  if (measuring_ || done_) return;
  // At a low load the slots never fill; then the start-up is over when those of the first step are.
  if (steps < warm_up_ + std::min(filled_at_.value_or(warm_up_), warm_up_)) return;
  measuring_ = true;
  start_ = now;
  first_step_ = steps;
}

void Window::stand(const Standing& standing, std::int64_t steps, Time now) {
  if (!filled_at_ && standing.running == setting_.slots_total()) filled_at_ = steps;
  standing_since_ = now;
  stands_ = measuring_ && (!setting_.sync || standing.running > 0);  // workers in step make none while all are idle
  if (!stands_) return;
  standing_ = {};
  standing_.running = standing.running;
  standing_.held = standing.held;
  for (const double load : standing.loads) standing_.sum += load;
  const Barrier barrier = barrier_of(standing.loads, step_times_, setting_.step_time_of_speed_1());
  standing_.barrier = barrier.height;
  standing_.imbalance = barrier.imbalance;
  const std::int64_t measured = steps - first_step_;
  if (setting_.steps > 0) standing_.position = static_cast<double>(measured) / static_cast<double>(setting_.steps);
  if (point_every_ == 0 || measured < static_cast<std::int64_t>(trajectories_.step.size()) * point_every_) return;
  trajectories_.step.push_back(static_cast<double>(measured));
  for (std::size_t g = 0; g < standing.loads.size(); ++g) trajectories_.loads[g].push_back(standing.loads[g]);
}

void Window::account(Time now) {
  if (!stands_ || now == standing_since_) return;
  standing_.weight = setting_.sync ? 1 : to_seconds(now - standing_since_);
  meter_.loads(standing_);
}

}  // namespace evenkeel::simulation
