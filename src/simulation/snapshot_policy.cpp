#include "simulation/snapshot_policy.hpp"

#include <cmath>
#include <stdexcept>

#include "planning/fleet_plan.hpp"

namespace evenkeel::simulation {

namespace {

constexpr Tokens prompt{1020};

Tokens tokens_of(double gb) { return Tokens(std::llround(gb * 1e9 / planning::splitwise_70b_bytes_per_token)); }

}  // namespace

SnapshotPolicy::SnapshotPolicy(std::string_view policy, double capacity_gb, std::size_t workers) {
  auto made = routing::make_policy(policy);
  if (!made) throw std::invalid_argument(made.error().message);
  policy_ = *std::move(made);
  for (std::size_t i = 0; i < workers; ++i) {
    fleet::WorkerView view;
    view.id = WorkerId{static_cast<std::uint32_t>(i)};
    view.max_in_flight = 1 << 30;
    view.kv_capacity = tokens_of(capacity_gb);
    view.rate = &rate_;
    workers_.push_back(view);
    candidates_.push_back(static_cast<std::uint32_t>(i));
  }
  hits_.assign(workers, prompt - Tokens(1));  // next to no prefill is owed, so that memory alone decides
}

std::size_t SnapshotPolicy::choose(std::span<const double> left_gb, Random& random) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].foreign_tokens = workers_[i].kv_capacity - tokens_of(left_gb[i]);
  }
  fleet::WaitingView waiting;
  waiting.prompt_tokens = prompt;
  waiting.candidates = candidates_;
  waiting.hits = hits_;
  const fleet::FleetView view{workers_};
  placements_.clear();
  policy_->plan(std::span(&waiting, 1), view, Time{}, random, placements_);
  return placements_.front().worker;
}

}  // namespace evenkeel::simulation
