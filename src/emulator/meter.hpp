#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "engine/model.hpp"
#include "maths/histogram.hpp"

namespace evenkeel::emulator {

/// What an experiment over sockets wants to know of the engine, by the names and the definitions of
/// `evenkeel simulate`, so that the two can be compared. With L_g the KV tokens of rank g while a step runs (those held
/// at its start and one more for each request in it), M the largest of them, G ranks of B slots. Engine time
/// throughout. Means are over the steps in which anybody took part; of ranks that step by themselves, and under a rate
/// table, over time.
struct Measured {
  double window_s = 0;     ///< from the first step that began in it, or its own begin if over time, to the last event
  std::int64_t steps = 0;  ///< in which anybody took part; of ranks that step by themselves: of all of them
  double step_ms = 0;      ///< their mean length
  double mean_imbalance = 0;  ///< sum over g of M - L_g, tokens
  double idle = 0;            ///< mean of 1 - sum L_g / (G M)
  double mean_load = 0;       ///< KV tokens a rank
  double occupancy = 0;       ///< requests in service over G B
  std::int64_t tokens = 0;    ///< output tokens
  double throughput = 0;      ///< output tokens a second
  std::int64_t requests = 0;  ///< that ended other than by their client
  double tpot_p50_ms = 0;     ///< (end - first admission) / output tokens, within 0.05 %
  double tpot_p95_ms = 0;
  double tpot_p99_ms = 0;
  /// Steps that had ended before the step before them was told to anybody: the emulator was too slow for its time
  /// scale, and whoever sends requests could not react in between. Anything but a few of them spoils a comparison.
  std::int64_t late_steps = 0;
  double longest_lag_ms = 0;  ///< the longest that the end of a step was told late
};

/// Gathers it. Memory is fixed, about 200 kB.
class Meter {
 public:
  /// `by_step`: all ranks share each step. `slots` of one rank.
  Meter(std::size_t ranks, std::int64_t slots, bool by_step);

  /// Forgets everything; what is measured begins with the next step.
  void restart(Time now);
  /// Notes what stands in the engine from `now` on. To be called after each event of the engine.
  void look(Time now, const engine::EngineModel& model);
  /// The same after a change from outside, which is not one of what the step in progress was begun with.
  void look_between(Time now, const engine::EngineModel& model);
  /// A step has ended and is told at `told`; what it brought follows.
  void step(const engine::StepReport& report, Time told, bool late);
  void tokens(std::int64_t count);
  void finished(Duration served, std::int64_t output);
  [[nodiscard]] Measured result() const;

 private:
  struct Loads {
    double sum = 0;
    double largest = 0;
    double running = 0;
  };
  void account(double weight);

  const double ranks_;
  const double slots_;  ///< of all ranks
  const bool by_step_;
  bool counting_ = false;  ///< what comes now belongs to a step that began within the window
  Time since_;
  Time first_;
  Time last_;
  Loads standing_;
  double weight_ = 0;
  double imbalance_ = 0;
  double idle_ = 0;
  double load_ = 0;
  double running_ = 0;
  double steps_ms_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t late_steps_ = 0;
  Duration longest_lag_{};
  maths::Histogram tpots_ms_;
};

}  // namespace evenkeel::emulator
