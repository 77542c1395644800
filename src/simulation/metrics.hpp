#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace evenkeel::simulation {

/// What one run measured. Of steps shared by all workers, with L_g the KV tokens of worker g and M the largest of them,
/// G workers of B slots: arXiv 2601.17855. Means are over steps; of workers that step by themselves over time.
struct Metrics {
  double mean_imbalance = 0;  ///< sum over g of M - L_g, tokens; of unequal workers see barrier_of()
  double idle = 0;            ///< mean of 1 - sum L_g / (G M)
  double occupancy = 0;       ///< requests in service over G B
  double held_share = 0;      ///< slots left open while somebody waited who could have entered, over G B
  double mean_load = 0;       ///< KV tokens a worker
  double step_ms = 0;
  double throughput = 0;   ///< output tokens a second
  double tpot_p50_ms = 0;  ///< (end - admission) / output tokens, nearest rank
  double tpot_p95_ms = 0;
  double tpot_p99_ms = 0;
  double ttft_p50_s = 0;  ///< release to first token
  double ttft_p95_s = 0;
  double wait_mean_s = 0;  ///< release to admission; those still waiting at the end count with their wait so far
  double wait_p95_s = 0;
  double wait_p99_s = 0;
  double wait_max_s = 0;
  double wait_smallest_decile_s = 0;  ///< mean wait of the tenth with the smallest prompts
  double wait_largest_decile_s = 0;
  std::array<double, 10> wait_by_decile_s{};  ///< mean waits by tenths of prompt size, smallest first
  double overtakes_max = 0;                   ///< most later-released requests that entered before one
  double served_mean_prompt = 0;              ///< tokens, of those admitted
  double requests = 0;                        ///< that ended
  double hit_rate = 0;                ///< prompt tokens found in the engines' prefix caches, over all of those admitted
  double one_cache_hit_rate = 0;      ///< the same of OneCache, of the size of all
  double endless_cache_hit_rate = 0;  ///< and without end
  double makespan_s = 0;              ///< from the first release to the end of the run
  double preemptions = 0;             ///< requests that an engine put off for want of memory
  double refused = 0;                 ///< by the redline
};

struct MetricInfo {
  std::string_view key;  ///< as in the JSON
  double Metrics::*value;
  bool largest_of_seeds = false;  ///< several seeds are summed up by their largest, not their mean
};
[[nodiscard]] const std::array<MetricInfo, 27>& metric_table();

/// Means of a quantity over equal stretches of a run, for a standard error from one run alone: stretches much longer
/// than a request's life are nearly independent (the method of batch means).
class BatchMeans {
 public:
  static constexpr std::size_t batches = 20;
  /// `position`: how far through the run, in [0, 1); not known: negative, and no error to be had.
  void add(double value, double weight, double position);
  [[nodiscard]] double mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }
  [[nodiscard]] double standard_error() const;

 private:
  double sum_ = 0;
  double weight_ = 0;
  std::array<double, batches> batch_sum_{};
  std::array<double, batches> batch_weight_{};
};

/// Standard deviation of the mean of so many independent values; 0 for fewer than two.
[[nodiscard]] double standard_error(const std::vector<double>& values);

/// Gathers what happens within the window measured.
class Meter {
 public:
  /// `slots` of all workers together.
  Meter(std::size_t workers, std::int64_t slots);

  /// The loads that stood for a time (or step) of this weight.
  struct Loads {
    double weight = 1;
    double position = -1;  ///< as of BatchMeans
    double sum = 0;        ///< KV tokens of all workers
    double barrier = 0;    ///< of the worker all wait for; of unequal workers in tokens of one of speed 1
    double imbalance = 0;
    std::int64_t running = 0;
    std::int64_t held = 0;
  };
  void loads(const Loads& now);
  void step(Duration length) { steps_s_ += to_seconds(length), ++steps_; }
  void tokens(std::int64_t count) { tokens_ += count; }
  void admitted(Duration waited, std::int64_t prompt, std::int64_t overtakes);
  void first_token(Duration since_release) { ttfts_s_.push_back(to_seconds(since_release)); }
  void finished(Duration served, std::int64_t output);
  void preempted() { ++preemptions_; }
  void refused() { ++refused_; }
  void still_waiting(Duration waited, std::int64_t prompt, std::int64_t overtakes);

  /// Of a window of so long. Sorts what it gathered.
  [[nodiscard]] Metrics result(Duration window);
  [[nodiscard]] double imbalance_error() const { return imbalance_.standard_error(); }

 private:
  void waits(Metrics& metrics);

  const double workers_;
  const double slots_;
  BatchMeans imbalance_;
  double weight_ = 0;
  double idle_ = 0;
  double load_ = 0;
  double running_ = 0;
  double held_ = 0;
  double steps_s_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t overtakes_max_ = 0;
  std::int64_t preemptions_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t admitted_ = 0;
  double admitted_prompt_ = 0;
  struct Wait {
    double seconds;
    std::int64_t prompt;
  };
  std::vector<Wait> waits_;
  std::vector<double> ttfts_s_;
  std::vector<double> tpots_ms_;
};

}  // namespace evenkeel::simulation
