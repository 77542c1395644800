// The studies of fleets and workloads that are not as the published ones.
#include <fmt/format.h>

#include "simulation/markdown.hpp"
#include "simulation/studies.hpp"
#include "simulation/study_parts.hpp"
#include "simulation/study_workload.hpp"
#include "simulation/tiled_charts.hpp"

namespace evenkeel::simulation {

namespace {

std::vector<StudyLine> setting_lines() {
  return {{first_come}, {"least_tokens", 0, false}, {br0, 0, false},
          {br0, 40},    {brh_survival, 0, false},   {brh_survival, 40},
          {brh_oracle}, {brh_oracle_wide, 40},      {balance_full_slots},
          {"balance"},  {"balance", 40, false}};
}

StudyPage setting_page(const StudyResults& results) {
  return {comparison_sections(results), bullets({balance_against_rivals(results), balance_price(results)}),
          tiled_charts({imbalance_bars(results), throughput_bars(results)}, 1)};
}

}  // namespace

Study heterogeneous_study() {
  Study study{
      "heterogeneous",
      "Even load: one worker a fifth slower",
      "Worker 0 takes 1.25 times as long for a step as the others, its fixed part and each token. What counts is "
      "time, so imbalance is the time waited at the barrier over the price of a token at the others. Columns as in "
      "[balance-table](balance-table.md).",
      {},
      setting_page};
  for (const std::int64_t slots : {10, 32}) {
    Options options = group_of(8, slots);
    options.speeds = "0.8";
    study.cases.push_back({fmt::format("B = {}", slots), options, setting_lines()});
  }
  return study;
}

Study staleness_study() {
  Study study{
      "staleness",
      "Even load: decisions on old loads",
      "The policy sees what ran some steps ago, and what was sent since as if nothing of it had ended; slots are "
      "seen as they are. Columns as in [balance-table](balance-table.md).",
      {},
      setting_page};
  for (const std::int64_t steps : {0, 5, 20}) {
    Options options = group_of(8, 32);
    options.stale_steps = steps;
    study.cases.push_back({fmt::format("{} steps old", steps), options, setting_lines()});
  }
  return study;
}

Study recurrence_study() {
  Study study{
      "recurrence",
      "Even load: prompts that come again",
      "All requests are of 400 prompts; each has its size and its mean output, and outputs lie within 8 percent of "
      "it. The forecast `exact_match` tells them apart by a hash of the prompt and learns as they end. Columns as "
      "in [balance-table](balance-table.md).",
      {},
      setting_page};
  for (const std::int64_t slots : {10, 32}) {
    Options options = group_of(8, slots);
    options.classes = "400";
    StudyCase one{fmt::format("B = {}", slots), options, setting_lines()};
    one.lines.insert(one.lines.begin() + 6, {{"brh[forecast=exact_match]", 0, false},
                                             {"brh[forecast=exact_match]", 40},
                                             {"brh[forecast=exact_match,window=all,gamma=0.95]", 40, false}});
    study.cases.push_back(std::move(one));
  }
  return study;
}

// --- utilisation ---------------------------------------------------------------------------------------------

namespace {

/// How much longer than the first line's, in percent.
Estimate excess(const Summary& each, const Summary& first, double Metrics::*metric) {
  const Estimate both = ratio(each, first, metric);
  return {100 * (both.value - 1), 100 * both.error};
}

std::string utilisation_section(const CaseResult& result) {
  MarkdownTable table({"policy", "step ms", "over first, %", "TPOT P95 ms", "over first, %", "imbalance, k tokens",
                       "wait mean s", "wait P99 s", "longest s", "in use", "held"});
  const Summary& first = result.lines.front();
  for (std::size_t i = 0; i < result.lines.size(); ++i) {
    const Summary& each = result.lines[i];
    table.add_row(
        {fmt::format("`{}`", result.what.lines[i].label()), text_of(estimate(each, &Metrics::step_ms), 2),
         text_of(excess(each, first, &Metrics::step_ms), 2), text_of(estimate(each, &Metrics::tpot_p95_ms), 2),
         text_of(excess(each, first, &Metrics::tpot_p95_ms), 2),
         text_of(estimate(each, &Metrics::mean_imbalance), 1, 1e3), fmt::format("{:.2f}", each.mean.wait_mean_s),
         fmt::format("{:.1f}", each.mean.wait_p99_s), fmt::format("{:.1f}", each.mean.wait_max_s),
         fmt::format("{:.1f} %", 100 * each.mean.occupancy), fmt::format("{:.2f} %", 100 * each.mean.held_share)});
  }
  std::string text = fmt::format("## {}\n\n{}\n", result.what.label, table.text());
  for (const std::string& note : result.notes) text += fmt::format("Note: {}.\n\n", note);
  return text + commands(result) + '\n';
}

std::string utilisation_findings(const StudyResults& results) {
  std::string text = "Step time and TPOT P95 of `balance` over late-bound `least_tokens`, in percent: ";
  std::string worse;
  for (const CaseResult& result : results) {
    const Summary& ours = *result.find("balance");
    const Estimate step = excess(ours, result.lines.front(), &Metrics::step_ms);
    const Estimate tpot = excess(ours, result.lines.front(), &Metrics::tpot_p95_ms);
    text += fmt::format("{}{}: {} and {}", &result == &results.front() ? "" : "; ", result.what.label, text_of(step, 2),
                        text_of(tpot, 2));
    if (step.over(1)) worse += fmt::format("{}step time at {}", worse.empty() ? "" : ", ", result.what.label);
    if (tpot.over(1)) worse += fmt::format("{}TPOT P95 at {}", worse.empty() ? "" : ", ", result.what.label);
  }
  return text + (worse.empty() ? ". None is worse by more than a standard error."
                               : fmt::format(". Worse by more than a standard error: {}.", worse));
}

StudyPage utilisation_page(const StudyResults& results) {
  std::string tables;
  for (const CaseResult& result : results) tables += utilisation_section(result);
  return {tables, bullets({utilisation_findings(results)}), imbalance_bars(results)};
}

}  // namespace

Study utilisation_study() {
  Study study{
      "utilisation",
      "Even load: with slots to spare",
      "Poisson arrivals that keep 50 to 90 percent of the slots in use, so that most requests find a slot at once and "
      "the choice is of the worker. The first line is the one to beat; all are bound late. The difference is that "
      "of the means over the same arrivals.",
      {},
      utilisation_page};
  for (const std::int64_t slots : {10, 32}) {
    for (const double utilisation : {0.5, 0.6, 0.75, 0.9}) {
      Options options = group_of(8, slots);
      options.utilisation = utilisation;
      study.cases.push_back(
          {fmt::format("B = {}, {:.0f} %", slots, 100 * utilisation),
           options,
           {{"least_tokens"}, {first_come}, {br0}, {brh_survival}, {balance_full_slots}, {"balance"}}});
    }
  }
  return study;
}

}  // namespace evenkeel::simulation
