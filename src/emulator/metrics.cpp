#include "emulator/metrics.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace evenkeel::emulator {
namespace {

constexpr std::array first_token_bounds = {.001, .005, .01, .02, .04, .06, .08, .1,  .25,  .5,   .75,
                                           1.,   2.5,  5.,  7.5, 10., 20., 40., 80., 160., 640., 2560.};
constexpr std::array inter_token_bounds = {.01, .025, .05, .075, .1,  .15, .2,  .3,  .4, .5,
                                           .75, 1.,   2.5, 5.,   7.5, 10., 20., 40., 80.};
constexpr std::array whole_bounds = {.3,  .5,  .8,  1.,  1.5,  2.,   2.5,  5.,   10.,   15.,  20.,
                                     30., 40., 50., 60., 120., 240., 480., 960., 1920., 7680.};

using engine::EngineGauges;
using engine::FinishReason;

/// 3 as Python writes a float: "3.0".
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string escaped(std::string_view label) {
  std::string out;
  for (const char c : label) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

class Page {
 public:
  explicit Page(const MetricsView& view) : view_(view), model_(fmt::format("model_name=\"{}\"", escaped(view.model))) {}

  /// One series a rank, of what `value` says of the rank's gauges.
  template <class Value>
  void series(std::string_view name, std::string_view type, std::string_view help, Value value) {
    header(name, type, help);
    lines(name, value);
  }
  /// Labels stand in the order of their names, as Prometheus' client writes them: `middle` between "engine"
  /// and "model_name", `last` behind.
  template <class Value>
  void lines(std::string_view name, Value value, std::string_view middle = {}, std::string_view last = {}) {
    for (std::size_t rank = 0; rank < view_.gauges.size(); ++rank) {
      out_ += fmt::format("{}{{engine=\"{}\",{}{}{}}} {}\n", name, view_.first_rank + rank, middle, model_, last,
                          number(static_cast<double>(value(view_.gauges[rank]))));
    }
  }
  void histogram(std::string_view name, std::string_view help, BucketHistogram RequestTimes::*which) {
    header(name, "histogram", help);
    for (std::size_t rank = 0; rank < view_.times.size(); ++rank) {
      (view_.times[rank].*which).append(out_, name, fmt::format("engine=\"{}\"", view_.first_rank + rank), model_);
    }
  }
  /// One series a rank, of its KV transfers.
  template <class Value>
  void transfers(std::string_view name, std::string_view help, Value value) {
    header(name, "counter", help);
    for (std::size_t rank = 0; rank < view_.kv.size(); ++rank) {
      out_ += fmt::format("{}{{engine=\"{}\",{}}} {}\n", name, view_.first_rank + rank, model_,
                          number(static_cast<double>(value(view_.kv[rank]))));
    }
  }
  void header(std::string_view name, std::string_view type, std::string_view help) {
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  std::string& out() { return out_; }

 private:
  const MetricsView& view_;
  std::string model_;  ///< its label
  std::string out_;
};

void append_queues(Page& page) {
  page.series("vllm:num_requests_running", "gauge", "Number of requests in model execution batches.",
              [](const EngineGauges& g) { return g.running; });
  page.series("vllm:num_requests_waiting", "gauge", "Number of requests waiting to be processed.",
              [](const EngineGauges& g) { return g.waiting; });
  page.header("vllm:num_requests_waiting_by_reason", "gauge", "Number of waiting requests by reason.");
  page.lines(
      "vllm:num_requests_waiting_by_reason", [](const EngineGauges& g) { return g.waiting - g.deferred; }, "",
      R"(,reason="capacity")");
  page.lines(
      "vllm:num_requests_waiting_by_reason", [](const EngineGauges& g) { return g.deferred; }, "",
      R"(,reason="deferred")");
}

void append_cache(Page& page, std::string_view usage, std::string_view queries, std::string_view hits) {
  page.series(usage, "gauge", "KV-cache usage. 1 means 100 percent usage.",
              [](const EngineGauges& g) { return g.kv_usage; });
  page.series(queries, "counter", "Prefix cache queries, in terms of number of queried tokens.",
              [](const EngineGauges& g) { return g.prefix_queries.value(); });
  page.series(hits, "counter", "Prefix cache hits, in terms of number of cached tokens.",
              [](const EngineGauges& g) { return g.prefix_hits.value(); });
}

void append_counters(Page& page) {
  page.series("vllm:num_preemptions_total", "counter", "Cumulative number of preemption from the engine.",
              [](const EngineGauges& g) { return g.preemptions; });
  page.series("vllm:prompt_tokens_total", "counter", "Number of prefill tokens processed.",
              [](const EngineGauges& g) { return g.prompt_tokens.value(); });
  page.series("vllm:generation_tokens_total", "counter", "Number of generation tokens processed.",
              [](const EngineGauges& g) { return g.generation_tokens.value(); });
  page.header("vllm:request_success_total", "counter", "Count of successfully processed requests.");
  for (const FinishReason reason : {FinishReason::stop, FinishReason::length, FinishReason::abort}) {
    page.lines(
        "vllm:request_success_total", [reason](const EngineGauges& g) { return g.finished_by(reason); },
        fmt::format(R"(finished_reason="{}",)", engine::name_of(reason)));
  }
}

void append_transfers(Page& page) {
  page.transfers("vllm:external_prefix_cache_queries_total",
                 "External prefix cache queries from KV connector cross-instance cache sharing, in tokens.",
                 [](const KvCounters& kv) { return kv.asked_tokens.value(); });
  page.transfers("vllm:external_prefix_cache_hits_total",
                 "External prefix cache hits from KV connector cross-instance cache sharing, in tokens.",
                 [](const KvCounters& kv) { return kv.loaded_tokens.value(); });
  page.transfers("vllm:nixl_num_failed_transfers_total", "Number of failed NIXL KV Cache Transfers.",
                 [](const KvCounters& kv) { return kv.failed; });
  page.transfers("vllm:nixl_num_kv_expired_reqs_total", "Number of requests that had their KV expire.",
                 [](const KvCounters& kv) { return kv.expired; });
}

void append_config(Page& page, const MetricsView& view) {
  page.header("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
  const auto& config = view.config;
  for (std::size_t rank = 0; rank < view.gauges.size(); ++rank) {
    page.out() += fmt::format(
        R"(vllm:cache_config_info{{block_size="{}",cache_dtype="auto",enable_prefix_caching="{}",engine="{}",)"
        R"(gpu_memory_utilization="0.92",kv_cache_size_tokens="{}",num_cpu_blocks="None",num_gpu_blocks="{}",)"
        "sliding_window=\"None\"}} 1.0\n",
        config.block_size, config.prefix_cache ? "True" : "False", view.first_rank + rank,
        config.usable_blocks() * config.block_size, config.total_blocks());
  }
}

}  // namespace

void BucketHistogram::observe(double value) {
  const auto place = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(place)];
  ++count_;
  sum_ += value;
}

void BucketHistogram::append(std::string& out, std::string_view name, std::string_view before,
                             std::string_view after) const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    below += counts_[i];
    out += fmt::format("{}_bucket{{{},le=\"{}\",{}}} {}.0\n", name, before, number(bounds_[i]), after, below);
  }
  out += fmt::format("{0}_bucket{{{1},le=\"+Inf\",{2}}} {3}.0\n{0}_count{{{1},{2}}} {3}.0\n{0}_sum{{{1},{2}}} {4}\n",
                     name, before, after, count_, number(sum_));
}

RequestTimes::RequestTimes() : first_token(first_token_bounds), inter_token(inter_token_bounds), whole(whole_bounds) {}

std::string metrics_page(const MetricsView& view) {
  Page page(view);
  const bool current = view.names != MetricNames::old;
  const bool old = view.names != MetricNames::current;
  append_queues(page);
  if (current)
    append_cache(page, "vllm:kv_cache_usage_perc", "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total");
  if (old) {
    append_cache(page, "vllm:gpu_cache_usage_perc", "vllm:gpu_prefix_cache_queries_total",
                 "vllm:gpu_prefix_cache_hits_total");
  }
  append_counters(page);
  page.histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.",
                 &RequestTimes::first_token);
  if (current) {
    page.histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.",
                   &RequestTimes::inter_token);
  }
  if (old) {
    page.histogram("vllm:time_per_output_token_seconds", "Histogram of time per output token in seconds.",
                   &RequestTimes::inter_token);
  }
  page.histogram("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.",
                 &RequestTimes::whole);
  if (!view.kv.empty()) append_transfers(page);
  append_config(page, view);
  page.header("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.");
  page.out() += fmt::format("process_start_time_seconds {}\n", number(static_cast<double>(view.started)));
  return page.out();
}

}  // namespace evenkeel::emulator
