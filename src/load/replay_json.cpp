#include "load/replay_json.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "load/worker_share.hpp"

namespace evenkeel::load {

namespace {

namespace json = boost::json;

json::value summary(const maths::Summary& s) {
  if (s.count == 0) return nullptr;
  return {{"count", s.count}, {"mean", s.mean}, {"min", s.min}, {"p50", s.p50},
          {"p90", s.p90},     {"p95", s.p95},   {"p99", s.p99}, {"max", s.max}};
}

json::value number_or_null(const std::optional<double>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::object offered(const OfferedLoad& load) {
  return {{"requests", load.requests},
          {"prompt_tokens", load.prompt_tokens},
          {"output_tokens", load.output_tokens},
          {"span_s", load.span_s}};
}

json::object completed(const CompletedLoad& load) {
  return {{"requests", load.requests},
          {"prompt_tokens", load.prompt_tokens},
          {"output_tokens", load.output_tokens},
          {"counted_by_usage", load.counted_by_usage},
          {"counted_by_events", load.counted_by_events},
          {"span_s", load.span_s},
          {"output_tokens_per_s", load.output_tokens_per_s()}};
}

/// 429 apart, because it asks to come back; then by hundreds.
json::object status_classes(const ReplayReport& report) {
  std::uint64_t too_many = 0;
  std::uint64_t client = 0;
  std::uint64_t server = 0;
  std::uint64_t other = 0;
  for (const auto& [status, count] : report.statuses) {
    if (status == 200) continue;
    (status == 429 ? too_many : status / 100 == 4 ? client : status / 100 == 5 ? server : other) += count;
  }
  return {{"429", too_many}, {"4xx", client}, {"5xx", server}, {"other", other}};
}

json::object failures(const ReplayReport& report) {
  json::object out{{"requests", report.failed()}};
  json::object examples;
  for (std::size_t i = 0; i < ending_count; ++i) {
    const auto ending = static_cast<Ending>(i);
    if (ending == Ending::completed) continue;
    out[name(ending)] = report.endings[i].requests;
    if (report.endings[i].requests > 0) examples[name(ending)] = report.endings[i].example;
  }
  out["status_classes"] = status_classes(report);
  json::object refusals;
  for (const auto& [reason, count] : report.refusals) refusals[reason] = count;
  out["refusals"] = std::move(refusals);
  out["examples"] = std::move(examples);
  return out;
}

json::value goodput(const ReplayReport& report) {
  if (!report.goodput) return nullptr;
  return {{"slo_ttft_ms", number_or_null(report.slo_ttft_ms)},
          {"slo_tpot_ms", number_or_null(report.slo_tpot_ms)},
          {"requests", report.goodput->requests},
          {"share", report.goodput->share},
          {"requests_per_s", report.goodput->requests_per_s}};
}

json::array workers(const ReplayReport& report) {
  json::array out;
  for (const auto& worker : report.workers) {
    out.push_back(json::object{{"name", worker.name},
                               {"answers", worker.answers},
                               {"share", answer_share(report, worker.name)},
                               {"completed", worker.completed},
                               {"output_tokens", worker.output_tokens}});
  }
  return out;
}

json::object box(const BoxShare& share) {
  return {{"name", share.name},
          {"slots", share.slots},
          {"rate_1", number_or_null(share.rate_one)},
          {"rate_full", number_or_null(share.rate_full)},
          {"unseen_levels", json::value_from(share.unseen)},
          {"requests", share.requests},
          {"output_tokens", share.output_tokens}};
}

json::value boxes(const ReplayReport& report) {
  if (!report.boxes) return nullptr;
  const BoxReport& found = *report.boxes;
  json::array rows;
  json::array split;
  for (const BoxShare& share : found.boxes) {
    rows.push_back(box(share));
    split.emplace_back(share.requests);
  }
  return {{"rates", found.measured ? "measured" : "known"},
          {"workers", std::move(rows)},
          {"throughput", found.tokens_per_s},
          {"split", std::move(split)},
          {"ceiling", found.ceiling},
          {"optimum", found.optimum},
          {"optimum_is", found.exact ? "exact" : "bound"},
          {"optimum_split", found.exact ? json::value_from(found.optimum_split) : json::value(nullptr)},
          {"efficiency", found.efficiency()}};
}

json::object client(const ReplayReport& report) {
  return {{"held_requests", report.held_requests},
          {"held_ms", summary(report.held_ms)},
          {"late_ms", summary(report.late_ms)},
          {"most_in_flight", report.most_in_flight},
          {"reconnects", report.reconnects}};
}

}  // namespace

std::string to_json(const ReplayReport& report) {
  json::object statuses;
  for (const auto& [status, count] : report.statuses) statuses[fmt::format("{}", status)] = count;
  json::object out{{"version", 1},
                   {"label", report.label},
                   {"url", report.url},
                   {"policy", report.policy},
                   {"offered", offered(report.offered)},
                   {"completed", completed(report.completed)},
                   {"failed", failures(report)},
                   {"statuses", std::move(statuses)},
                   {"wasted_output_tokens", report.wasted_output_tokens},
                   {"ttft_ms", summary(report.ttft_ms)},
                   {"tpot_ms", summary(report.tpot_ms)},
                   {"itl_ms", summary(report.itl_ms)},
                   {"e2e_ms", summary(report.e2e_ms)},
                   {"router_wait_ms", report.router_wait_ms ? summary(*report.router_wait_ms) : nullptr},
                   {"goodput", goodput(report)},
                   {"workers", workers(report)},
                   {"boxes", boxes(report)},
                   {"client", client(report)},
                   {"notes", json::value_from(report.notes)}};
  return json::serialize(out) + '\n';
}

}  // namespace evenkeel::load
