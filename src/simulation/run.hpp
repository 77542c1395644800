#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "routing/spec.hpp"
#include "simulation/metrics.hpp"
#include "simulation/reuse.hpp"
#include "simulation/setting.hpp"
#include "simulation/window.hpp"

namespace evenkeel::simulation {

/// A request that starts with a step.
struct Start {
  std::size_t worker = 0;
  std::int64_t prompt = 0;
};

/// What one step began with, after admission.
struct StepSeen {
  std::int64_t step = 0;  ///< from 1
  Time start;
  const Standing& standing;
  std::span<const Start> starts;
  std::int64_t in_pool = 0;  ///< released and without a worker
};

struct RunHooks {
  /// Told now and then how many steps were made since it was last told.
  std::function<void(std::int64_t)> progress;
  /// Every step, warm-up included; costs time.
  std::function<void(const StepSeen&)> step;
  /// If given, decisions and the whole run are timed by it.
  const Clock* cpu = nullptr;
};

struct Timing {
  double decision_us_p50 = 0;
  double decision_us_p99 = 0;
  double decisions = 0;
  double steps_per_s = 0;
};

struct RunResult {
  std::uint64_t seed = 0;
  Metrics metrics;
  double imbalance_se = 0;  ///< by batch means; 0 if the run was too short for one
  std::int64_t warm_up_steps = 0;
  std::int64_t measured_steps = 0;
  double window_s = 0;
  std::uint64_t released = 0;       ///< requests, in the whole run
  std::uint64_t left_waiting = 0;   ///< at the end
  std::int64_t left_in_flight = 0;  ///< by the dispatcher's books
  Trajectories trajectories;
  std::vector<WorkerUse> workers;  ///< if the engines have prefix caches
  std::optional<Timing> timing;
};

/// One run of one policy in virtual time: the dispatcher and the engine model of the live router and the emulator,
/// driven step by step. One step: what has ended leaves, what has come is released, the policy is asked once, the loads
/// are measured, the step lasts as long as the engine says. With Stepping::live all goes as between router and engines:
/// ends and tokens are told when a step ends, the next step starts at once, whoever is placed meanwhile enters with the
/// one after it; step times and counts are learned from the tokens, plans are put off and made when due, and the
/// dispatcher's clock ticks every 20 ms. `setting` must be valid. The same arguments give the same
/// result (but for timing); one seed has the same requests under every policy. Errors: the policy, or a request that
/// the engine refuses.
[[nodiscard]] Result<RunResult> run(const Setting& setting, const routing::PolicySpec& policy, std::uint64_t seed,
                                    const RunHooks& hooks = {});

}  // namespace evenkeel::simulation
