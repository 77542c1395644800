#include "load/replay_report.hpp"

#include <algorithm>
#include <utility>

namespace evenkeel::load {

std::string_view name(Ending ending) {
  switch (ending) {
    case Ending::completed: return "completed";
    case Ending::connect: return "connect";
    case Ending::timeout: return "timeout";
    case Ending::no_answer: return "no_answer";
    case Ending::status: return "status";
    case Ending::error_event: return "error_event";
    case Ending::truncated: return "truncated";
    case Ending::malformed: return "malformed";
  }
  return "unknown";
}

std::optional<double> tpot_ms(const RequestRecord& record) {
  if (!record.first_content || record.output.value() < 2) return std::nullopt;
  return to_millis(record.last_content - *record.first_content) / static_cast<double>(record.output.value() - 1);
}

namespace {

double since_due_ms(const RequestRecord& record, Duration when) { return to_millis(when - record.due); }

/// An answer without content is judged by its end: until then its client knew nothing.
bool meets(const RequestRecord& record, const Slo& slo) {
  if (slo.ttft_ms && since_due_ms(record, record.first_content.value_or(record.ended)) > *slo.ttft_ms) return false;
  return !slo.tpot_ms || tpot_ms(record).value_or(0) <= *slo.tpot_ms;
}

struct Samples {
  std::vector<double> ttft, tpot, e2e, held, late, router_wait;
};

void add_completed(const RequestRecord& record, ReplayReport& report, Samples& samples) {
  auto& completed = report.completed;
  ++completed.requests;
  completed.prompt_tokens += record.prompt.value();
  completed.output_tokens += record.output.value();
  completed.counted_by_usage += record.counted_by == CountedBy::usage ? 1 : 0;
  completed.counted_by_events += record.counted_by == CountedBy::events ? 1 : 0;
  samples.e2e.push_back(since_due_ms(record, record.ended));
  if (record.first_content) samples.ttft.push_back(since_due_ms(record, *record.first_content));
  if (const auto tpot = tpot_ms(record)) samples.tpot.push_back(*tpot);
}

void add_worker(const RequestRecord& record, ReplayReport& report) {
  if (record.worker == no_worker) return;
  WorkerShare& worker = report.workers[record.worker];
  ++worker.answers;
  if (record.ending != Ending::completed) return;
  ++worker.completed;
  worker.output_tokens += record.output.value();
}

void add(const RequestRecord& record, ReplayReport& report, Samples& samples) {
  ++report.offered.requests;
  report.offered.prompt_tokens += record.trace_prompt.value();
  report.offered.output_tokens += record.trace_output.value();
  ++report.endings[static_cast<std::size_t>(record.ending)].requests;
  if (record.status != 0) ++report.statuses[record.status];
  if (record.router_wait_ms >= 0) samples.router_wait.push_back(static_cast<double>(record.router_wait_ms));
  (record.held ? samples.held : samples.late).push_back(since_due_ms(record, record.sent));
  add_worker(record, report);
  if (record.ending == Ending::completed) {
    add_completed(record, report, samples);
  } else {
    report.wasted_output_tokens += record.output.value();
  }
}

void measure_spans(std::span<const RequestRecord> records, ReplayReport& report) {
  if (records.empty()) return;
  Duration first = Duration::max();
  Duration last{};
  Duration last_end = Duration::min();
  for (const auto& record : records) {
    first = std::min(first, record.due);
    last = std::max(last, record.due);
    if (record.ending == Ending::completed) last_end = std::max(last_end, record.ended);
  }
  report.offered.span_s = to_seconds(last - first);
  if (report.completed.requests > 0) report.completed.span_s = to_seconds(last_end - first);
}

maths::Summary summary_of(const maths::Histogram& histogram) {
  return {static_cast<std::size_t>(histogram.count()),
          histogram.mean(),
          histogram.min(),
          histogram.percentile(50),
          histogram.percentile(90),
          histogram.percentile(95),
          histogram.percentile(99),
          histogram.max()};
}

std::optional<Goodput> goodput_of(std::span<const RequestRecord> records, const Slo& slo, const ReplayReport& report) {
  if (!slo.ttft_ms && !slo.tpot_ms) return std::nullopt;
  Goodput good;
  good.requests = static_cast<std::uint64_t>(std::count_if(records.begin(), records.end(), [&](const auto& record) {
    return record.ending == Ending::completed && meets(record, slo);
  }));
  const auto count = static_cast<double>(good.requests);
  if (report.offered.requests > 0) good.share = count / static_cast<double>(report.offered.requests);
  if (report.completed.span_s > 0) good.requests_per_s = count / report.completed.span_s;
  return good;
}

std::string joined(const std::map<std::string, std::uint64_t>& policies) {
  std::string out;
  for (const auto& [policy, count] : policies) out += (out.empty() ? "" : "+") + policy;
  return out;
}

}  // namespace

ReplayReport summarize(const Gathered& gathered, const Slo& slo) {
  ReplayReport report;
  Samples samples;
  for (const auto& worker : gathered.worker_names) report.workers.push_back({worker, 0, 0, 0});
  for (const auto& record : gathered.records) add(record, report, samples);
  std::sort(report.workers.begin(), report.workers.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < ending_count; ++i) report.endings[i].example = gathered.examples[i];
  measure_spans(gathered.records, report);
  std::sort(samples.ttft.begin(), samples.ttft.end());
  report.ttft_ms = maths::summarize(samples.ttft);
  report.ttft_values_ms = std::move(samples.ttft);
  report.tpot_ms = maths::summarize(std::move(samples.tpot));
  report.e2e_ms = maths::summarize(std::move(samples.e2e));
  report.itl_ms = summary_of(gathered.gaps_ms);
  report.held_requests = samples.held.size();
  report.held_ms = maths::summarize(std::move(samples.held));
  report.late_ms = maths::summarize(std::move(samples.late));
  if (!samples.router_wait.empty()) report.router_wait_ms = maths::summarize(std::move(samples.router_wait));
  report.slo_ttft_ms = slo.ttft_ms;
  report.slo_tpot_ms = slo.tpot_ms;
  report.goodput = goodput_of(gathered.records, slo, report);
  report.refusals = gathered.refusals;
  report.policy = joined(gathered.policies);
  report.most_in_flight = gathered.most_in_flight;
  report.reconnects = gathered.reconnects;
  return report;
}

}  // namespace evenkeel::load
