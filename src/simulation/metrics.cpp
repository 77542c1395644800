#include "simulation/metrics.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::simulation {

namespace {

constexpr std::array<MetricInfo, 27> table = {{
    {"mean_imbalance", &Metrics::mean_imbalance},
    {"idle", &Metrics::idle},
    {"occupancy", &Metrics::occupancy},
    {"held_share", &Metrics::held_share},
    {"mean_load", &Metrics::mean_load},
    {"step_ms", &Metrics::step_ms},
    {"throughput", &Metrics::throughput},
    {"tpot_p50_ms", &Metrics::tpot_p50_ms},
    {"tpot_p95_ms", &Metrics::tpot_p95_ms},
    {"tpot_p99_ms", &Metrics::tpot_p99_ms},
    {"ttft_p50_s", &Metrics::ttft_p50_s},
    {"ttft_p95_s", &Metrics::ttft_p95_s},
    {"wait_mean_s", &Metrics::wait_mean_s},
    {"wait_p95_s", &Metrics::wait_p95_s},
    {"wait_p99_s", &Metrics::wait_p99_s},
    {"wait_max_s", &Metrics::wait_max_s, true},
    {"wait_smallest_decile_s", &Metrics::wait_smallest_decile_s},
    {"wait_largest_decile_s", &Metrics::wait_largest_decile_s},
    {"overtakes_max", &Metrics::overtakes_max, true},
    {"served_mean_prompt", &Metrics::served_mean_prompt},
    {"requests", &Metrics::requests},
    {"hit_rate", &Metrics::hit_rate},
    {"one_cache_hit_rate", &Metrics::one_cache_hit_rate},
    {"endless_cache_hit_rate", &Metrics::endless_cache_hit_rate},
    {"makespan_s", &Metrics::makespan_s},
    {"preemptions", &Metrics::preemptions},
    {"refused", &Metrics::refused},
}};

/// The smallest value that at least p percent of the values do not exceed; 0 of none.
double nearest_rank(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(p / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

const std::array<MetricInfo, 27>& metric_table() { return table; }

void BatchMeans::add(double value, double weight, double position) {
  sum_ += value * weight;
  weight_ += weight;
  if (position < 0) return;
  const auto batch = std::min(static_cast<std::size_t>(position * static_cast<double>(batches)), batches - 1);
  batch_sum_[batch] += value * weight;
  batch_weight_[batch] += weight;
}

double BatchMeans::standard_error() const {
  std::vector<double> means;
  for (std::size_t i = 0; i < batches; ++i) {
    if (batch_weight_[i] > 0) means.push_back(batch_sum_[i] / batch_weight_[i]);
  }
  return means.size() < batches ? 0 : simulation::standard_error(means);
}

double standard_error(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 2) return 0;
  double mean = 0;
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1) / count);
}

Meter::Meter(std::size_t workers, std::int64_t slots)
    : workers_(static_cast<double>(workers)), slots_(static_cast<double>(slots)) {}

void Meter::loads(const Loads& now) {
  weight_ += now.weight;
  imbalance_.add(now.imbalance, now.weight, now.position);
  if (now.barrier > 0) idle_ += now.weight * now.imbalance / (workers_ * now.barrier);
  load_ += now.weight * now.sum / workers_;
  running_ += now.weight * static_cast<double>(now.running);
  held_ += now.weight * static_cast<double>(now.held);
}

void Meter::admitted(Duration waited, std::int64_t prompt, std::int64_t overtakes) {
  still_waiting(waited, prompt, overtakes);
  ++admitted_;
  admitted_prompt_ += static_cast<double>(prompt);
}

void Meter::finished(Duration served, std::int64_t output) {
  tpots_ms_.push_back(to_millis(served) / static_cast<double>(output));
}

void Meter::still_waiting(Duration waited, std::int64_t prompt, std::int64_t overtakes) {
  waits_.push_back({to_seconds(waited), prompt});
  overtakes_max_ = std::max(overtakes_max_, overtakes);
}

void Meter::waits(Metrics& metrics) {
  if (waits_.empty()) return;
  std::stable_sort(waits_.begin(), waits_.end(), [](const Wait& a, const Wait& b) { return a.prompt < b.prompt; });
  const std::size_t tenth = std::max<std::size_t>(1, waits_.size() / 10);
  std::vector<double> seconds;
  seconds.reserve(waits_.size());
  double sum = 0;
  for (std::size_t i = 0; i < waits_.size(); ++i) {
    sum += waits_[i].seconds;
    seconds.push_back(waits_[i].seconds);
    if (i < tenth) metrics.wait_smallest_decile_s += waits_[i].seconds / static_cast<double>(tenth);
    if (i >= waits_.size() - tenth) metrics.wait_largest_decile_s += waits_[i].seconds / static_cast<double>(tenth);
  }
  const std::size_t deciles = metrics.wait_by_decile_s.size();
  for (std::size_t d = 0; d < deciles; ++d) {
    const std::size_t begin = d * waits_.size() / deciles;
    const std::size_t end = (d + 1) * waits_.size() / deciles;
    for (std::size_t i = begin; i < end; ++i) {
      metrics.wait_by_decile_s[d] += waits_[i].seconds / static_cast<double>(end - begin);
    }
  }
  std::sort(seconds.begin(), seconds.end());
  metrics.wait_mean_s = sum / static_cast<double>(waits_.size());
  metrics.wait_p95_s = nearest_rank(seconds, 95);
  metrics.wait_p99_s = nearest_rank(seconds, 99);
  metrics.wait_max_s = seconds.back();
}

Metrics Meter::result(Duration window) {
  Metrics metrics;
  metrics.mean_imbalance = imbalance_.mean();
  metrics.idle = share(idle_, weight_);
  metrics.occupancy = share(running_, weight_ * slots_);
  metrics.held_share = share(held_, weight_ * slots_);
  metrics.mean_load = share(load_, weight_);
  metrics.step_ms = share(1e3 * steps_s_, static_cast<double>(steps_));
  metrics.throughput = share(static_cast<double>(tokens_), to_seconds(window));
  std::sort(tpots_ms_.begin(), tpots_ms_.end());
  metrics.tpot_p50_ms = nearest_rank(tpots_ms_, 50);
  metrics.tpot_p95_ms = nearest_rank(tpots_ms_, 95);
  metrics.tpot_p99_ms = nearest_rank(tpots_ms_, 99);
  std::sort(ttfts_s_.begin(), ttfts_s_.end());
  metrics.ttft_p50_s = nearest_rank(ttfts_s_, 50);
  metrics.ttft_p95_s = nearest_rank(ttfts_s_, 95);
  waits(metrics);
  metrics.overtakes_max = static_cast<double>(overtakes_max_);
  metrics.preemptions = static_cast<double>(preemptions_);
  metrics.refused = static_cast<double>(refused_);
  metrics.served_mean_prompt = share(admitted_prompt_, static_cast<double>(admitted_));
  metrics.requests = static_cast<double>(tpots_ms_.size());
  return metrics;
}

}  // namespace evenkeel::simulation
