#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "routing/policy.hpp"

namespace evenkeel::simulation {

/// Another policy, each of whose decisions is timed by a clock from outside (the process's CPU clock).
class TimedPolicy final : public routing::Policy {
 public:
  /// `micros` receives one value a decision; it and the clock must outlive the policy.
  TimedPolicy(std::unique_ptr<routing::Policy> inner, const Clock& clock, std::vector<float>& micros)
      : inner_(std::move(inner)), clock_(clock), micros_(micros) {}
  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
            std::vector<fleet::Placement>& placements) override {
    const Time begun = clock_.now();
    inner_->plan(waiting, fleet, now, random, placements);
    micros_.push_back(static_cast<float>(to_millis(clock_.now() - begun) * 1e3));
  }
  [[nodiscard]] bool wants_hits() const override { return inner_->wants_hits(); }
  [[nodiscard]] bool wants_running() const override { return inner_->wants_running(); }
  [[nodiscard]] bool plans_jointly() const override { return inner_->plans_jointly(); }
  [[nodiscard]] bool bounds_overtaking() const override { return inner_->bounds_overtaking(); }
  void ended(const fleet::LeaseSummary& summary, Time now) override { inner_->ended(summary, now); }

 private:
  std::unique_ptr<routing::Policy> inner_;
  const Clock& clock_;
  std::vector<float>& micros_;
};

}  // namespace evenkeel::simulation
