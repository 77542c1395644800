#include "playing_fleet.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::bench {

namespace {
std::int64_t length(Random& random, double mean, double cv, double cap) {
  return static_cast<std::int64_t>(std::clamp(std::round(random.lognormal(mean, cv)), 1.0, cap));
}
}  // namespace

PlayingFleet::PlayingFleet(const Shape& shape, std::uint64_t seed)
    : shape_(shape), random_(seed), running_(shape.workers), outputs_(shape.workers) {
  for (std::uint32_t g = 0; g < shape.workers; ++g) names_.push_back("w" + std::to_string(g));
  for (std::uint32_t g = 0; g < shape.workers; ++g) {
    fleet::WorkerView& worker = workers_.emplace_back();
    worker.id = WorkerId{g};
    worker.name = names_[g];
    worker.max_in_flight = shape.slots;
    worker.rate = &rate_;
    worker.mean_output = 1185;
    worker.step_time = {0.07, 0.2e-6};
    worker.group = 1;
  }
}

Time PlayingFleet::now() const { return Time(from_millis(80.0 * static_cast<double>(step_))); }

void PlayingFleet::next_decision(routing::Policy& policy) {
  do {
    step_once(policy);
    make_views();
  } while (candidates_.empty());
}

void PlayingFleet::step_once(routing::Policy& policy) {
  ++step_;
  for (std::size_t g = 0; g < workers_.size(); ++g) {
    for (std::size_t i = 0; i < running_[g].size();) {
      fleet::RunningView& request = running_[g][i];
      if (++request.generated < outputs_[g][i]) {
        ++i;
        continue;
      }
      fleet::LeaseSummary summary;
      summary.request = request.id;
      summary.worker = workers_[g].id;
      summary.outcome = fleet::Outcome::completed;
      summary.prompt_tokens = request.prompt_tokens;
      summary.output_tokens = Tokens(request.generated);
      summary.had_output = true;
      request = running_[g].back();
      outputs_[g][i] = outputs_[g].back();
      running_[g].pop_back();
      outputs_[g].pop_back();
      policy.ended(summary, now());
    }
  }
  fill_pool();
}

void PlayingFleet::fill_pool() {
  while (waiting_.size() < shape_.pool) {
    fleet::WaitingView& request = waiting_.emplace_back();
    request.id = RequestId{next_id_++};
    request.prompt_tokens = Tokens(length(random_, 3197, 0.81, 65536));
    request.arrived = now();
    request.found_waiting = static_cast<std::uint32_t>(waiting_.size() - 1);
    waiting_outputs_.push_back(length(random_, 1185, 0.9, 16384));
  }
}

void PlayingFleet::make_views() {
  candidates_.clear();
  for (std::uint32_t g = 0; g < workers_.size(); ++g) {
    fleet::Load load;
    load.in_flight = static_cast<std::int64_t>(running_[g].size());
    for (const fleet::RunningView& request : running_[g]) {
      load.prompt_tokens += request.prompt_tokens;
      load.generated_tokens += Tokens(request.generated);
    }
    workers_[g].load = load;
    workers_[g].running = running_[g];
    if (workers_[g].free_slots() > 0) candidates_.push_back(g);
  }
  for (fleet::WaitingView& request : waiting_) request.candidates = candidates_;
}

void PlayingFleet::apply(const std::vector<fleet::Placement>& placements) {
  std::vector<bool> entered(waiting_.size());
  for (const fleet::Placement& placement : placements) {
    const fleet::WaitingView& request = waiting_[placement.request];
    entered[placement.request] = true;
    for (std::uint32_t i = 0; i < placement.request; ++i) waiting_[i].overtaken += entered[i] ? 0 : 1;
    fleet::RunningView& running = running_[placement.worker].emplace_back();
    running.id = request.id;
    running.prompt_tokens = request.prompt_tokens;
    outputs_[placement.worker].push_back(waiting_outputs_[placement.request]);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (entered[i]) continue;
    waiting_[kept] = waiting_[i];
    waiting_outputs_[kept] = waiting_outputs_[i];
    ++kept;
  }
  waiting_.resize(kept);
  waiting_outputs_.resize(kept);
}

}  // namespace evenkeel::bench
