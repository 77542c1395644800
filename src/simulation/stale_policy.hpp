#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "routing/policy.hpp"

namespace evenkeel::simulation {

/// Another policy under old reports: it sees what its workers ran so many steps ago, plus the prompts of what was
/// admitted since and is still there. Slots it sees as they are.
class StalePolicy final : public routing::Policy {
 public:
  StalePolicy(std::unique_ptr<routing::Policy> inner, std::int64_t steps)
      : inner_(std::move(inner)), steps_(static_cast<std::size_t>(steps)) {}

  /// What every worker runs at a boundary between two steps, before anything is admitted. To be told at each.
  void report(std::vector<std::vector<fleet::RunningView>> running_by_worker);

  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
            std::vector<fleet::Placement>& placements) override;
  [[nodiscard]] bool wants_hits() const override { return inner_->wants_hits(); }
  [[nodiscard]] bool wants_running() const override { return true; }
  [[nodiscard]] bool plans_jointly() const override { return inner_->plans_jointly(); }
  [[nodiscard]] bool bounds_overtaking() const override { return inner_->bounds_overtaking(); }
  void ended(const fleet::LeaseSummary& summary, Time now) override { inner_->ended(summary, now); }

 private:
  using Report = std::vector<std::vector<fleet::RunningView>>;  ///< by worker, each in order of id
  void show(fleet::WorkerView& worker, std::vector<fleet::RunningView>& shown) const;

  std::unique_ptr<routing::Policy> inner_;
  const std::size_t steps_;
  std::deque<Report> reports_;  ///< the oldest first; at most steps_ + 1
  std::vector<fleet::WorkerView> workers_;
  std::vector<std::vector<fleet::RunningView>> shown_;
};

}  // namespace evenkeel::simulation
