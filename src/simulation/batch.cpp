#include "simulation/batch.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "simulation/bounds.hpp"
#include "simulation/policies.hpp"

namespace evenkeel::simulation {

namespace {

/// All runs of a batch, taken one by one by however many threads.
class Work {
 public:
  Work(const Setting& setting, const std::vector<routing::PolicySpec>& policies, const BatchOptions& options)
      : setting_(setting), policies_(policies), options_(options), results_(policies.size() * options.seeds) {}

  void take_all(const std::function<void()>& told) {
    RunHooks hooks;
    hooks.cpu = options_.cpu;
    hooks.progress = [&](std::int64_t steps) {
      steps_.fetch_add(static_cast<std::uint64_t>(steps), std::memory_order_relaxed);
      if (told) told();
    };
    while (true) {
      const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= results_.size()) return;
      const std::uint64_t seed = options_.first_seed + index % options_.seeds;
      results_[index] = run(setting_, policies_[index / options_.seeds], seed, hooks);
      if (!*results_[index]) next_.store(results_.size(), std::memory_order_relaxed);  // the others are of no use
    }
  }

  [[nodiscard]] std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

  [[nodiscard]] Result<std::vector<Summary>> summaries() {
    for (const auto& result : results_) {
      if (result && !*result) return tl::unexpected(result->error());
    }
    std::vector<Summary> all;
    for (std::size_t policy = 0; policy < policies_.size(); ++policy) {
      std::vector<RunResult> runs;
      for (std::size_t k = 0; k < options_.seeds; ++k) {
        runs.push_back(std::move(**results_[policy * options_.seeds + k]));
      }
      all.push_back(summarise(policies_[policy], std::move(runs)));
    }
    return all;
  }

 private:
  const Setting& setting_;
  const std::vector<routing::PolicySpec>& policies_;
  const BatchOptions& options_;
  std::vector<std::optional<Result<RunResult>>> results_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> steps_{0};
};

void work_in_threads(Work& work, const BatchOptions& options) {
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t left = options.jobs;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < options.jobs; ++i) {
    threads.emplace_back([&] {
      work.take_all({});
      const std::lock_guard lock(mutex);
      --left;
      ended.notify_one();
    });
  }
  {
    std::unique_lock lock(mutex);
    while (left > 0) {
      ended.wait_for(lock, std::chrono::milliseconds(200));
      if (options.progress) options.progress(work.steps());
    }
  }
  for (std::thread& thread : threads) thread.join();
}

Result<void> check(const Setting& setting, const std::vector<routing::PolicySpec>& policies,
                   const BatchOptions& options) {
  if (policies.empty()) return failure("policy: at least one is wanted");
  if (auto ok = bounds::seeds.check("seeds", static_cast<std::int64_t>(options.seeds)); !ok) return ok;
  if (auto ok = bounds::jobs.check("jobs", static_cast<std::int64_t>(options.jobs)); !ok) return ok;
  if (auto ok = validate(setting); !ok) return ok;
  for (const auto& policy : policies) {
    if (auto ok = check_policy(policy); !ok) return ok;
  }
  return {};
}

}  // namespace

Summary summarise(routing::PolicySpec policy, std::vector<RunResult> runs) {
  Summary summary;
  summary.policy = std::move(policy);
  for (const MetricInfo& info : metric_table()) {
    std::vector<double> values;
    for (const RunResult& each : runs) values.push_back(each.metrics.*info.value);
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    summary.mean.*info.value = info.largest_of_seeds ? *std::max_element(values.begin(), values.end()) : mean;
    summary.error.*info.value = standard_error(values);
  }
  if (runs.size() == 1) summary.error.mean_imbalance = runs.front().imbalance_se;
  summary.runs = std::move(runs);
  return summary;
}

Result<std::vector<Summary>> run_all(const Setting& setting, const std::vector<routing::PolicySpec>& policies,
                                     const BatchOptions& options) {
  if (auto ok = check(setting, policies, options); !ok) return tl::unexpected(ok.error());
  Work work(setting, policies, options);
  // Only what is timed has no second thread beside it: else the caller is told of its time even in a long step.
  if (options.jobs == 1 && (options.cpu != nullptr || !options.progress)) {
    work.take_all([&] {
      if (options.progress) options.progress(work.steps());
    });
  } else {
    work_in_threads(work, options);
  }
  return work.summaries();
}

Ratio paired_ratio(const Summary& a, const Summary& b, double Metrics::*metric) {
  double sum_a = 0;
  double sum_b = 0;
  for (const RunResult& run : a.runs) sum_a += run.metrics.*metric;
  for (const RunResult& run : b.runs) sum_b += run.metrics.*metric;
  if (sum_b == 0 || a.runs.size() != b.runs.size()) return {};
  Ratio ratio{sum_a / sum_b};
  std::vector<double> residuals;
  for (std::size_t k = 0; k < a.runs.size(); ++k) {
    residuals.push_back(a.runs[k].metrics.*metric - ratio.value * (b.runs[k].metrics.*metric));
  }
  ratio.error = standard_error(residuals) * static_cast<double>(b.runs.size()) / sum_b;
  return ratio;
}

}  // namespace evenkeel::simulation
