#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "fleet/view.hpp"
#include "routing/policy.hpp"

namespace evenkeel::bench {

/// A fleet that goes on from decode step to decode step, so that a policy is asked about states that follow from its
/// own decisions: every request that runs makes one token a step and leaves when it is done, whoever left is replaced
/// in the waiting pool at once. Prompts are lognormal of mean 3197 and coefficient of variation 0.81, outputs of 1185
/// and 0.9. Nothing is measured here.
class PlayingFleet {
 public:
  struct Shape {
    std::size_t workers = 8;
    std::int64_t slots = 32;  ///< a worker
    std::size_t pool = 32;    ///< requests that wait
  };

  PlayingFleet(const Shape& shape, std::uint64_t seed);

  /// Goes on until a slot is open, and tells the policy who left meanwhile. Views are of that state.
  void next_decision(routing::Policy& policy);
  void apply(const std::vector<fleet::Placement>& placements);

  [[nodiscard]] std::span<const fleet::WaitingView> waiting() const { return waiting_; }
  [[nodiscard]] fleet::FleetView view() const { return {workers_, 0.1, step_}; }
  [[nodiscard]] Time now() const;
  [[nodiscard]] std::int64_t step() const { return step_; }

 private:
  void step_once(routing::Policy& policy);
  void fill_pool();
  void make_views();

  Shape shape_;
  Random random_;
  fleet::RateCurve rate_;
  std::vector<std::string> names_;
  std::vector<fleet::WorkerView> workers_;
  std::vector<std::vector<fleet::RunningView>> running_;  ///< by worker
  std::vector<std::vector<std::int64_t>> outputs_;        ///< of them: tokens until they leave, from their begin
  std::vector<fleet::WaitingView> waiting_;
  std::vector<std::int64_t> waiting_outputs_;
  std::vector<std::uint32_t> candidates_;
  std::uint64_t next_id_ = 1;
  std::int64_t step_ = 0;
};

}  // namespace evenkeel::bench
