#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "routing/spec.hpp"
#include "simulation/run.hpp"

namespace evenkeel::simulation {

struct BatchOptions {
  std::size_t seeds = 3;         ///< 1 to 10,000
  std::uint64_t first_seed = 1;  ///< the others follow it
  std::size_t jobs = 1;          ///< threads; the results do not depend on it
  /// Steps of all runs made so far; called on the caller's thread, a few times a second whether or not a step ended
  /// (with a CPU clock: only when steps did).
  std::function<void(std::uint64_t)> progress;
  /// Times decisions and runs (a process-wide CPU clock, so wanted is jobs = 1).
  const Clock* cpu = nullptr;
};

/// The runs of one policy, one a seed, and what they say together.
struct Summary {
  routing::PolicySpec policy;
  std::vector<RunResult> runs;
  Metrics mean;   ///< or the largest, as metric_table() says
  Metrics error;  ///< standard errors over the seeds; with one seed 0, but mean_imbalance's by batch means
};

[[nodiscard]] Summary summarise(routing::PolicySpec policy, std::vector<RunResult> runs);

/// Every policy with every seed; the k-th seed has the same requests under each. Errors: the setting, a policy, or the
/// first run that failed.
[[nodiscard]] Result<std::vector<Summary>> run_all(const Setting& setting,
                                                   const std::vector<routing::PolicySpec>& policies,
                                                   const BatchOptions& options);

/// Ratio of two means of paired runs (the same seeds), and its standard error: that of the differences a_k - ratio b_k,
/// over the mean of b (Cochran, Sampling Techniques, 6.4).
struct Ratio {
  double value = 0;
  double error = 0;
};
[[nodiscard]] Ratio paired_ratio(const Summary& a, const Summary& b, double Metrics::*metric);

}  // namespace evenkeel::simulation
