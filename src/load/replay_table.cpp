#include "load/replay_table.hpp"

#include <functional>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "load/worker_share.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"

namespace evenkeel::load {

namespace {

using report::Align;
using report::Table;

std::string whole(std::uint64_t count) { return report::grouped(static_cast<std::int64_t>(count)); }

std::string ms(double value) { return report::fixed(value, value < 10 ? 2 : value < 1000 ? 1 : 0); }

std::string per_second(double count, double span_s) { return span_s > 0 ? report::short_number(count / span_s) : "-"; }

std::string load_text(const ReplayReport& report) {
  Table table({{"load", Align::left},
               {"requests"},
               {"prompt tokens"},
               {"output tokens"},
               {"span s"},
               {"requests/s"},
               {"output tok/s"}});
  const auto row = [&](const char* name, std::uint64_t requests, std::int64_t prompt, std::int64_t output,
                       double span_s) {
    table.add_row({name, whole(requests), report::grouped(prompt), report::grouped(output), report::fixed(span_s, 1),
                   per_second(static_cast<double>(requests), span_s), per_second(static_cast<double>(output), span_s)});
  };
  const auto& offered = report.offered;
  const auto& completed = report.completed;
  row("offered", offered.requests, offered.prompt_tokens, offered.output_tokens, offered.span_s);
  row("completed", completed.requests, completed.prompt_tokens, completed.output_tokens, completed.span_s);
  return table.text();
}

std::string latency_text(const ReplayReport& report) {
  Table table({{"ms", Align::left}, {"count"}, {"mean"}, {"p50"}, {"p90"}, {"p95"}, {"p99"}, {"max"}});
  const auto row = [&](const char* name, const maths::Summary& s) {
    if (s.count == 0) return;
    table.add_row({name, whole(s.count), ms(s.mean), ms(s.p50), ms(s.p90), ms(s.p95), ms(s.p99), ms(s.max)});
  };
  row("TTFT", report.ttft_ms);
  row("TPOT", report.tpot_ms);
  row("ITL", report.itl_ms);
  row("e2e", report.e2e_ms);
  if (report.router_wait_ms) row("waited in router", *report.router_wait_ms);
  row("held by client", report.held_ms);
  row("client late", report.late_ms);
  return table.text();
}

std::string worker_text(const ReplayReport& report) {
  Table table({{"worker", Align::left}, {"answers"}, {"share"}, {"completed"}, {"output tokens"}});
  for (const auto& worker : report.workers) {
    table.add_row({worker.name, whole(worker.answers), report::percent(answer_share(report, worker.name)),
                   whole(worker.completed), report::grouped(worker.output_tokens)});
  }
  return table.text();
}

std::string joined(const std::vector<std::int64_t>& counts) { return fmt::format("{}", fmt::join(counts, "/")); }

std::string box_text(const BoxReport& found) {
  Table table({{"box", Align::left}, {"slots"}, {"tok/s, 1"}, {"tok/s, full"}, {"requests"}, {"output tokens"}});
  const auto rate = [](const std::optional<double>& value) { return value ? report::fixed(*value, 2) : "not seen"; };
  std::vector<std::int64_t> split;
  std::string unseen;
  for (const BoxShare& box : found.boxes) {
    table.add_row({box.name, std::to_string(box.slots), rate(box.rate_one), rate(box.rate_full),
                   report::grouped(box.requests), report::grouped(box.output_tokens)});
    split.push_back(box.requests);
    if (!box.unseen.empty()) {
      fmt::format_to(std::back_inserter(unseen), "{} was never seen with {} running: taken from its neighbours.\n",
                     box.name, fmt::join(box.unseen, ", "));
    }
  }
  const std::string optimum =
      found.exact ? fmt::format("best split {}: ", joined(found.optimum_split)) : std::string("no split can pass ");
  return table.text() + unseen +
         fmt::format("By {} rates: split {}: {} tok/s, its ceiling {}; {}{}; efficiency {}.\n",
                     found.measured ? "the run's own" : "known", joined(split), report::fixed(found.tokens_per_s, 2),
                     report::fixed(found.ceiling, 2), optimum, report::fixed(found.optimum, 2),
                     report::fixed(found.efficiency(), 3));
}

std::string failure_text(const ReplayReport& report) {
  Table table({{"failure", Align::left}, {"requests"}, {"example", Align::left}});
  for (std::size_t i = 0; i < ending_count; ++i) {
    const auto ending = static_cast<Ending>(i);
    if (ending == Ending::completed || report.endings[i].requests == 0) continue;
    if (ending != Ending::status) {
      table.add_row({std::string(name(ending)), whole(report.endings[i].requests), report.endings[i].example});
      continue;
    }
    bool first = true;
    for (const auto& [status, count] : report.statuses) {
      if (status == 200) continue;
      table.add_row({fmt::format("status {}", status), whole(count), first ? report.endings[i].example : ""});
      first = false;
    }
  }
  for (const auto& [reason, count] : report.refusals) table.add_row({"  refused: " + reason, whole(count)});
  return table.text();
}

std::string goodput_line(const ReplayReport& report) {
  const Goodput& good = *report.goodput;
  std::string limits;
  if (report.slo_ttft_ms) limits += fmt::format("TTFT {} ms", report::short_number(*report.slo_ttft_ms));
  if (report.slo_tpot_ms) {
    limits += fmt::format("{}TPOT {} ms", limits.empty() ? "" : ", ", report::short_number(*report.slo_tpot_ms));
  }
  return fmt::format("goodput within {}: {} of the offered requests, {} requests/s\n", limits,
                     report::percent(good.share), report::short_number(good.requests_per_s));
}

}  // namespace

std::string result_table(const ReplayReport& report) {
  std::string out = fmt::format("{}: {}\n\n{}\n", report.label, report.url, load_text(report));
  out += latency_text(report);
  out += "TTFT and e2e count from the scheduled arrival, time held in the client included.\n";
  if (report.goodput) out += '\n' + goodput_line(report);
  if (!report.workers.empty()) out += '\n' + worker_text(report);
  if (report.boxes) out += '\n' + box_text(*report.boxes);
  if (report.failed() > 0) out += '\n' + failure_text(report);
  for (const auto& note : report.notes) fmt::format_to(std::back_inserter(out), "\nnote: {}", note);
  if (!report.notes.empty()) out += '\n';
  return out;
}

std::string comparison_table(std::span<const ReplayReport> reports) {
  std::vector<report::Column> columns{{"", Align::left}};
  for (const auto& report : reports) columns.push_back({report.label});
  Table table(std::move(columns));
  const auto row = [&](std::string name, const std::function<std::string(const ReplayReport&)>& cell) {
    std::vector<std::string> cells{std::move(name)};
    for (const auto& report : reports) cells.push_back(cell(report));
    table.add_row(std::move(cells));
  };
  using R = const ReplayReport&;
  row("requests completed",
      [](R r) { return fmt::format("{} of {}", whole(r.completed.requests), whole(r.offered.requests)); });
  row("TTFT p50 ms", [](R r) { return ms(r.ttft_ms.p50); });
  row("TTFT p95 ms", [](R r) { return ms(r.ttft_ms.p95); });
  row("TTFT p99 ms", [](R r) { return ms(r.ttft_ms.p99); });
  row("TPOT p95 ms", [](R r) { return ms(r.tpot_ms.p95); });
  row("e2e p95 ms", [](R r) { return ms(r.e2e_ms.p95); });
  row("output tok/s", [](R r) { return report::fixed(r.completed.output_tokens_per_s(), 1); });
  const auto workers = worker_names(reports);
  if (!workers.empty()) table.add_rule();
  for (const auto& worker : workers) {
    row("share of " + worker, [&](R r) { return report::percent(answer_share(r, worker)); });
  }
  return table.text();
}

}  // namespace evenkeel::load
