#include "simulation/results.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"
#include "simulation/words.hpp"

namespace evenkeel::simulation {

namespace {

namespace json = boost::json;

json::object metrics_object(const Metrics& metrics) {
  json::object out;
  for (const MetricInfo& info : metric_table()) out[info.key] = metrics.*info.value;
  return out;
}

json::object parameters_object(const routing::PolicySpec& policy) {
  json::object out;
  for (const auto& [key, value] : policy.parameters) {
    const auto number = parse_double(value);
    out[key] = number ? json::value(*number) : json::value(value);
  }
  return out;
}

json::array workers_array(const RunResult& run) {
  json::array out;
  for (const WorkerUse& each : run.workers) {
    out.push_back(json::object{{"requests", each.requests},
                               {"hot_requests", each.hot_requests},
                               {"hit_rate", each.hit_rate},
                               {"wait_p50_s", each.wait_p50_s}});
  }
  return out;
}

json::array per_seed(const Summary& summary) {
  json::array out;
  for (const RunResult& run : summary.runs) {
    json::object one{{"seed", run.seed}};
    for (auto& [key, value] : metrics_object(run.metrics)) one[key] = value;
    one["imbalance_se"] = run.imbalance_se;
    one["warm_up_steps"] = run.warm_up_steps;
    one["measured_steps"] = run.measured_steps;
    one["window_s"] = run.window_s;
    if (!run.workers.empty()) one["workers"] = workers_array(run);
    out.push_back(std::move(one));
  }
  return out;
}

/// Of several seeds: the mean of their values.
json::object timing_object(const Summary& summary) {
  Timing mean;
  const auto seeds = static_cast<double>(summary.runs.size());
  for (const RunResult& run : summary.runs) {
    mean.decision_us_p50 += run.timing->decision_us_p50 / seeds;
    mean.decision_us_p99 += run.timing->decision_us_p99 / seeds;
    mean.decisions += run.timing->decisions / seeds;
    mean.steps_per_s += run.timing->steps_per_s / seeds;
  }
  return {{"decision_us_p50", mean.decision_us_p50},
          {"decision_us_p99", mean.decision_us_p99},
          {"decisions", mean.decisions},
          {"steps_per_s", mean.steps_per_s}};
}

json::object run_object(const Setting& setting, const Summary& summary) {
  json::object out{{"policy", summary.policy.name},
                   {"label", summary.policy.text()},
                   {"parameters", parameters_object(summary.policy)},
                   {"seeds", summary.runs.size()},
                   {"workload", workload_text(setting)}};
  for (auto& [key, value] : metrics_object(summary.mean)) out[key] = value;
  out["imbalance_se"] = summary.error.mean_imbalance;
  out["se"] = metrics_object(summary.error);
  out["per_seed"] = per_seed(summary);
  if (summary.runs.front().timing) out["timing"] = timing_object(summary);
  return out;
}

std::string_view name_of(Arrivals::Kind kind) {
  switch (kind) {
    case Arrivals::Kind::saturated: return "saturated";
    case Arrivals::Kind::poisson: return "poisson";
    case Arrivals::Kind::trace: return "trace";
  }
  return "";
}

json::object setting_object(const Setting& setting) {
  const fleet::StepTime step = setting.step_time_of_speed_1();
  json::array speeds;
  for (std::size_t worker = 0; worker < setting.workers; ++worker) speeds.push_back(setting.speed(worker));
  return {
      {"workers", setting.workers},
      {"slots", setting.engine.slots},
      {"sync", setting.sync},
      {"arrivals", name_of(setting.arrivals.kind)},
      {"pool_requests",
       setting.arrivals.kind == Arrivals::Kind::saturated ? json::value(setting.arrivals.pool) : json::value(nullptr)},
      {"rate_per_s", setting.arrivals.rate_per_s > 0 ? json::value(setting.arrivals.rate_per_s) : json::value(nullptr)},
      {"binding", setting.binding == Binding::late ? "late" : "early"},
      {"stepping", setting.stepping == Stepping::ideal ? "ideal" : "live"},
      {"overtake_cap", setting.overtake_cap > 0 ? json::value(setting.overtake_cap) : json::value(nullptr)},
      {"stale_steps", setting.stale_steps},
      {"redline", !setting.redline.on                             ? "off"
                  : setting.redline.line == redline::Line::growth ? "on"
                                                                  : "published"},
      {"steps", setting.steps},
      {"speeds", std::move(speeds)},
      {"step_fixed_ms", step.fixed_s * 1e3},
      {"step_token_us", step.token_s * 1e6},
      {"decode_growth", setting.engine.decode_growth},
      {"kv_tokens", setting.engine.kv_capacity.value()},
      {"kv_block", setting.engine.block_size},
      {"prefix_cache", setting.engine.prefix_cache},
      {"prompt_weight", setting.prompt_weight}};
}

/// What prefix caches spared, beside what one cache for all would; and the medians of the workers' waits.
std::string reuse_table(std::span<const Summary> summaries) {
  report::Table table({{"policy", report::Align::left},
                       {"hits"},
                       {"of one cache's"},
                       {"of an endless one's"},
                       {"TTFT p50 s"},
                       {"TTFT p95 s"},
                       {"least waited at, p50 s"},
                       {"most, p50 s"}});
  for (const Summary& each : summaries) {
    double least = 0;
    double most = 0;
    for (const RunResult& run : each.runs) {
      const auto [low, high] = std::ranges::minmax(run.workers, {}, &WorkerUse::wait_p50_s);
      least += low.wait_p50_s / static_cast<double>(each.runs.size());
      most += high.wait_p50_s / static_cast<double>(each.runs.size());
    }
    const auto part = [&](double whole) { return whole > 0 ? report::percent(each.mean.hit_rate / whole) : "-"; };
    table.add_row({each.policy.text(), report::percent(each.mean.hit_rate), part(each.mean.one_cache_hit_rate),
                   part(each.mean.endless_cache_hit_rate), report::fixed(each.mean.ttft_p50_s, 3),
                   report::fixed(each.mean.ttft_p95_s, 3), report::fixed(least, 3), report::fixed(most, 3)});
  }
  return table.text();
}

/// mean +- standard error, in units of `unit`
std::string estimate(double mean, double error, double unit, int decimals) {
  const std::string value = report::fixed(mean / unit, decimals);
  return error > 0 ? fmt::format("{} ±{}", value, report::fixed(error / unit, decimals)) : value;
}

}  // namespace

std::string workload_text(const Setting& setting) {
  const Arrivals& arrivals = setting.arrivals;
  std::string text = setting.lengths.text();
  switch (arrivals.kind) {
    case Arrivals::Kind::saturated: text += fmt::format(", {} kept waiting", arrivals.pool); break;
    case Arrivals::Kind::poisson: text += fmt::format(", poisson {:.6g}/s", arrivals.rate_per_s); break;
    case Arrivals::Kind::trace:
      text += ", arrivals of the trace";
      if (arrivals.rate_per_s > 0) text += fmt::format(" at {:.6g}/s", arrivals.rate_per_s);
      break;
  }
  if (arrivals.requests > 0) text += ", " + counted(static_cast<std::int64_t>(arrivals.requests), "request");
  return text;
}

std::string to_json(const Setting& setting, std::span<const Summary> summaries, std::span<const std::string> notes) {
  json::array runs;
  for (const Summary& summary : summaries) runs.push_back(run_object(setting, summary));
  json::array said;
  for (const std::string& note : notes) said.push_back(json::value(note));
  const json::object out{
      {"version", 1}, {"setting", setting_object(setting)}, {"runs", std::move(runs)}, {"notes", std::move(said)}};
  return json::serialize(out) + '\n';
}

std::string result_table(const Setting& setting, std::span<const Summary> summaries,
                         std::span<const std::string> notes) {
  report::Table table({{"policy", report::Align::left},
                       {"imbalance, k tokens"},
                       {"ratio"},
                       {"idle"},
                       {"occupancy"},
                       {"held"},
                       {"step ms"},
                       {"output tok/s"},
                       {"TPOT p95 ms"},
                       {"TTFT p95 s"},
                       {"wait p99 s"},
                       {"max s"},
                       {"overtaken"}});
  for (const Summary& each : summaries) {
    const Ratio ratio = paired_ratio(each, summaries.front(), &Metrics::mean_imbalance);
    table.add_row({each.policy.text(), estimate(each.mean.mean_imbalance, each.error.mean_imbalance, 1e3, 2),
                   estimate(ratio.value, ratio.error, 1, 3), report::percent(each.mean.idle),
                   report::percent(each.mean.occupancy), report::percent(each.mean.held_share),
                   estimate(each.mean.step_ms, each.error.step_ms, 1, 2),
                   estimate(each.mean.throughput, each.error.throughput, 1, 1), report::fixed(each.mean.tpot_p95_ms, 2),
                   report::fixed(each.mean.ttft_p95_s, 1), report::fixed(each.mean.wait_p99_s, 1),
                   report::fixed(each.mean.wait_max_s, 1),
                   report::grouped(static_cast<std::int64_t>(each.mean.overtakes_max))});
  }
  const auto seeds = static_cast<std::int64_t>(summaries.front().runs.size());
  const std::string length = setting.steps > 0
                                 ? counted(setting.steps, "step")
                                 : fmt::format("to the end, {} s", report::fixed(summaries.front().mean.makespan_s, 1));
  std::string text =
      fmt::format("{}\n{} of {}{}, {}, {}\n\n{}", workload_text(setting),
                  counted(static_cast<std::int64_t>(setting.workers), "worker"), counted(setting.engine.slots, "slot"),
                  setting.sync ? " in step" : "", length, counted(seeds, "seed"), table.text());
  if (setting.engine.prefix_cache) text += '\n' + reuse_table(summaries);
  if (!notes.empty()) text += '\n';
  for (const std::string& note : notes) text += note + '\n';
  return text;
}

}  // namespace evenkeel::simulation
