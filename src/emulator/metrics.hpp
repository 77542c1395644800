#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/kv_handoff.hpp"
#include "emulator/options.hpp"
#include "engine/config.hpp"
#include "engine/model.hpp"

namespace evenkeel::emulator {

/// A Prometheus histogram over fixed upper bounds. O(bounds) an observation.
class BucketHistogram {
 public:
  /// `bounds` ascend and must outlive the histogram.
  explicit BucketHistogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void observe(double value);
  /// Its lines in the text format. `before` and `after` are the labels on both sides of "le", without commas.
  void append(std::string& out, std::string_view name, std::string_view before, std::string_view after) const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;  ///< by bucket, not cumulated; the last is over all bounds
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

/// What a rank's frontend measures of requests, in real seconds.
struct RequestTimes {
  RequestTimes();
  BucketHistogram first_token;
  BucketHistogram inter_token;
  BucketHistogram whole;
};

struct MetricsView {
  std::string_view model;
  MetricNames names = MetricNames::current;
  const engine::EngineConfig& config;
  std::span<const engine::EngineGauges> gauges;  ///< by rank
  std::span<const RequestTimes> times;           ///< by rank
  std::span<const KvCounters> kv{};              ///< by rank; empty without a role
  std::size_t first_rank = 0;                    ///< the number of the first of them
  std::int64_t started = 0;                      ///< when the process was, Unix seconds
};

/// /metrics in Prometheus' text format, with vLLM's names and labels.
[[nodiscard]] std::string metrics_page(const MetricsView& view);

}  // namespace evenkeel::emulator
