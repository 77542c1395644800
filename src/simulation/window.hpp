#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulation/metrics.hpp"
#include "simulation/setting.hpp"

namespace evenkeel::simulation {

/// Loads of the workers over the steps measured, thinned.
struct Trajectories {
  std::vector<double> step;
  std::vector<std::vector<double>> loads;  ///< [worker][point]
};

/// The loads that stand between two instants.
struct Standing {
  std::vector<double> loads;  ///< KV tokens by worker
  std::int64_t running = 0;
  std::int64_t held = 0;
};

/// Steps of the warm-up of a setting after its slots were filled: three mean outputs.
[[nodiscard]] std::int64_t warm_up_steps(const Setting& setting);

/// The part of a run that is measured: when it begins and ends, and what happens in it.
class Window {
 public:
  /// `setting` must be valid and outlive it.
  explicit Window(const Setting& setting);

  /// At a boundary, so many steps having been made: the window may begin or end here. It ends, unless all is to be seen
  /// to its end, when nothing more comes.
  void consider(std::int64_t steps, Time now, bool nothing_comes);
  /// From now on these loads stand.
  void stand(const Standing& standing, std::int64_t steps, Time now);
  /// They have stood until now.
  void account(Time now);

  [[nodiscard]] bool measuring() const { return measuring_; }
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] Meter& meter() { return meter_; }
  [[nodiscard]] Time start() const { return start_; }
  [[nodiscard]] std::int64_t first_step() const { return first_step_; }
  [[nodiscard]] Trajectories& trajectories() { return trajectories_; }

 private:
  const Setting& setting_;
  const std::int64_t warm_up_;
  std::vector<fleet::StepTime> step_times_;  ///< empty if the workers are equal
  std::optional<std::int64_t> filled_at_;
  bool measuring_ = false;
  bool done_ = false;
  Time start_{};
  std::int64_t first_step_ = 0;
  Meter meter_;
  Meter::Loads standing_;
  bool stands_ = false;
  Time standing_since_{};
  std::int64_t point_every_ = 0;
  Trajectories trajectories_;
};

}  // namespace evenkeel::simulation
