// The studies that compare all policies at several sizes, and those of constants.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/numbers.hpp"
#include "simulation/markdown.hpp"
#include "simulation/studies.hpp"
#include "simulation/study_parts.hpp"
#include "simulation/study_workload.hpp"
#include "simulation/tiled_charts.hpp"

namespace evenkeel::simulation {

namespace {

constexpr double Metrics::*imbalance = &Metrics::mean_imbalance;

std::vector<StudyLine> table_lines() {
  return {{first_come},
          {"least_tokens", 0, false},
          {br0},
          {br0, 40, false},
          {brh_survival},
          {brh_survival, 40, false},
          {brh_oracle},
          {brh_oracle_wide, 40},
          {balance_full_slots},
          {"balance"}};
}

/// The published order, and whether each of its gaps is beyond doubt.
std::string order_of_policies(const StudyResults& results) {
  std::string text = fmt::format("Gaps from `{}` to `{}` to `{}` to `{}`, in thousand tokens: ", first_come, br0,
                                 brh_survival, brh_oracle);
  std::string doubtful;
  for (const CaseResult& result : results) {
    const std::array steps = {result.find(first_come), result.find(br0), result.find(brh_survival),
                              result.find(brh_oracle)};
    text += fmt::format("{}{}", &result == &results.front() ? "" : "; ", result.what.label);
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      const Estimate gap = paired_difference(*steps[i], *steps[i + 1], imbalance);
      text += fmt::format("{} {}", i == 0 ? ":" : ",", text_of(gap, 1, 1e3));
      if (gap.over(2)) continue;
      doubtful += fmt::format("{}the {} at {}", doubtful.empty() ? "" : ", ", std::array{"first", "second", "third"}[i],
                              result.what.label);
    }
  }
  return text + (doubtful.empty() ? ". Each is over twice its standard error."
                                  : fmt::format(". Not over twice its standard error: {}.", doubtful));
}

std::string first_come_over_br0(const StudyResults& results) {
  std::string text = fmt::format("`{}` has ", first_come);
  for (const CaseResult& result : results) {
    text += fmt::format("{}{} ({})", &result == &results.front() ? "" : ", ",
                        text_of(ratio(*result.find(first_come), *result.find(br0), imbalance), 2), result.what.label);
  }
  return text + fmt::format(" times the imbalance of `{}`.", br0);
}

std::string balance_against(const StudyResults& results, const char* ours, const char* theirs, int their_cap) {
  std::string text = fmt::format("`{}` has ", ours);
  for (const CaseResult& result : results) {
    const Summary& other = *result.find(theirs, their_cap);
    text += fmt::format("{}{} ({})", &result == &results.front() ? "" : ", ",
                        text_of(ratio(*result.find(ours), other, imbalance), 3), result.what.label);
  }
  return text + fmt::format(" times the imbalance of `{}`{}.", theirs,
                            their_cap > 0 ? fmt::format(", cap {}", their_cap) : "");
}

std::string throughput_against_oracle(const StudyResults& results) {
  std::string text = fmt::format("Output tokens a second of `balance` over those of `{}`: ", brh_oracle);
  for (const CaseResult& result : results) {
    text += fmt::format("{}{} ({})", &result == &results.front() ? "" : ", ",
                        text_of(ratio(*result.find("balance"), *result.find(brh_oracle), &Metrics::throughput), 4),
                        result.what.label);
  }
  return text + ".";
}

StudyPage balance_table_page(const StudyResults& results) {
  std::vector<double> slots;
  for (const CaseResult& result : results) slots.push_back(static_cast<double>(result.setting.engine.slots));
  return {comparison_sections(results),
          bullets({order_of_policies(results), first_come_over_br0(results), balance_against_rivals(results),
                   balance_against(results, balance_full_slots, brh_oracle_wide, 40),
                   balance_against(results, "balance", brh_oracle_wide, 40), balance_price(results),
                   throughput_against_oracle(results)}),
          tiled_charts({imbalance_bars(results), lines_chart(results, "Longest wait", "slots a worker", slots, "s",
                                                             &Metrics::wait_max_s, 1, true)},
                       1)};
}

}  // namespace

Study balance_table_study() {
  Study study{
      "balance-table",
      "Even load: every policy at four sizes of worker",
      "Eight workers in step; a step lasts as long as its fullest worker, so imbalance is time that the others "
      "wait. All policies get the same requests. Waits are in multiples of the first line's, and an imbalance "
      "bought with waits or with empty slots is worth nothing: read a line as a whole. The cap is the number of "
      "later requests that may enter before one; `balance` bounds that by itself. An oracle knows every output "
      "and exists in a simulation only.",
      {},
      balance_table_page};
  for (const std::int64_t slots : {10, 16, 32, 72}) {
    study.cases.push_back({fmt::format("B = {}", slots), group_of(8, slots), table_lines()});
  }
  return study;
}

// --- scaling -------------------------------------------------------------------------------------------------

namespace {

constexpr const char* brh_oracle_short = "brh[forecast=oracle,beta=14.67,gamma=0.64]";

/// Replays of a production trace on hardware; single runs, no errors given; oracle with beta 14.67, gamma 0.64.
struct Published {
  std::int64_t workers;
  double first_come, br0, oracle;
};
constexpr std::array published = {Published{4, 75'326, 9'711, 6'576}, Published{8, 215'110, 51'927, 23'577},
                                  Published{16, 675'607, 215'170, 117'067}};

std::string published_table(const StudyResults& results) {
  MarkdownTable table({"workers", "ours: first come / br0", "ours: br0 / oracle", "published: first come / br0",
                       "published: br0 / oracle", "published imbalance, k tokens: first come, br0, oracle"});
  for (const CaseResult& result : results) {
    const Summary& middle = *result.find(br0);
    std::vector<std::string> row = {fmt::to_string(result.setting.workers),
                                    text_of(ratio(*result.find(first_come), middle, imbalance), 2),
                                    text_of(ratio(middle, *result.find(brh_oracle_short), imbalance), 2)};
    const auto* const row_of = std::find_if(published.begin(), published.end(), [&](const Published& each) {
      return each.workers == static_cast<std::int64_t>(result.setting.workers);
    });
    if (row_of == published.end()) {
      row.insert(row.end(), {"-", "-", "-"});
    } else {
      row.push_back(report::fixed(row_of->first_come / row_of->br0, 2));
      row.push_back(report::fixed(row_of->br0 / row_of->oracle, 2));
      row.push_back(
          fmt::format("{:.1f}, {:.1f}, {:.1f}", row_of->first_come / 1e3, row_of->br0 / 1e3, row_of->oracle / 1e3));
    }
    table.add_row(row);
  }
  return "## Beside the published rows\n\nImbalance ratios. The published ones (arXiv 2605.06113) are single replays "
         "of "
         "a production trace on hardware, with a worker found for each request as it came and about ten in service a "
         "worker, so only the direction can be compared. The oracle is that of the published rows, beta 14.67 and "
         "gamma 0.64.\n\n" +
         table.text() + '\n';
}

StudyPage scaling_page(const StudyResults& results) {
  std::vector<double> workers;
  for (const CaseResult& result : results) workers.push_back(static_cast<double>(result.setting.workers));
  return {published_table(results) + comparison_sections(results),
          bullets({order_of_policies(results), first_come_over_br0(results), balance_against_rivals(results),
                   balance_price(results)}),
          tiled_charts(
              {lines_chart(results, "Mean imbalance", "workers", workers, "KV tokens, thousands", imbalance, 1e3, true),
               throughput_bars(results)},
              1)};
}

}  // namespace

Study scaling_study() {
  Study study{
      "scaling",
      "Even load: groups of 4 to 32 workers",
      "Sixteen slots a worker, four requests a worker waiting. More workers make the fullest of them fuller, and "
      "leave more to choose from. Columns as in [balance-table](balance-table.md).",
      {},
      scaling_page};
  for (const std::int64_t workers : {4, 8, 16, 32}) {
    study.cases.push_back({fmt::format("G = {}", workers),
                           group_of(workers, 16),
                           {{first_come},
                            {br0},
                            {br0, 40, false},
                            {brh_survival},
                            {brh_survival, 40, false},
                            {brh_oracle},
                            {brh_oracle_short},
                            {balance_full_slots},
                            {"balance"}}});
  }
  return study;
}

// --- sensitivity ---------------------------------------------------------------------------------------------

namespace {

std::string oracle_of(double beta, double gamma) {
  return fmt::format("brh[forecast=oracle,beta={:g},gamma={:g}]", beta, gamma);
}

/// The least and the largest imbalance among the settings of brh, beside br0 and each other.
std::string spread_of_constants(const CaseResult& result) {
  const Summary* least = nullptr;
  const Summary* most = nullptr;
  for (const Summary& each : result.lines) {
    if (each.policy.name != "brh") continue;
    if (least == nullptr || each.mean.mean_imbalance < least->mean.mean_imbalance) least = &each;
    if (most == nullptr || each.mean.mean_imbalance > most->mean.mean_imbalance) most = &each;
  }
  return fmt::format(
      "Among the constants of `brh` with an oracle imbalance goes from {} (`{}`) to {} (`{}`) thousand "
      "tokens, `{}` having {}.",
      text_of(estimate(*least, imbalance), 1, 1e3), least->policy.text(), text_of(estimate(*most, imbalance), 1, 1e3),
      most->policy.text(), br0, text_of(estimate(*result.find(br0), imbalance), 1, 1e3));
}

/// Of the cases after the first: what holding slots is worth at each depth of the pool.
StudyPage sensitivity_page(const StudyResults& results) {
  const StudyResults constants(results.begin(), results.begin() + 1);
  const StudyResults depths(results.begin() + 1, results.end());
  std::vector<double> depth;
  std::string held;
  for (const CaseResult& result : depths) {
    depth.push_back(*result.what.options.pool);
    held += fmt::format("{}{} ({})", held.empty() ? "" : ", ",
                        text_of(ratio(*result.find("balance"), *result.find(balance_full_slots), imbalance), 3),
                        result.what.label);
  }
  return {
      comparison_sections(results),
      bullets({spread_of_constants(results.front()), balance_against_rivals(depths),
               fmt::format("Holding a slot now and then leaves `balance` with {} times the imbalance it has without.",
                           held),
               balance_price(depths)}),
      tiled_charts({imbalance_bars(constants),
                    lines_chart(depths, "Mean imbalance over the depth of the waiting pool",
                                "waiting requests a worker", depth, "KV tokens, thousands", imbalance, 1e3, false)},
                   1)};
}

}  // namespace

Study sensitivity_study() {
  Study study{
      "sensitivity",
      "Even load: what the constants are worth",
      "First the price `beta` of an overflow and the discount `gamma` of a step ahead, at the values of the "
      "published sweep (beta 1 to 96 with gamma 0.9, gamma 0.5 to 1 with beta 48), by an oracle. Then `balance`, "
      "which has no constants to set: with and without holding slots open, at several depths of the waiting "
      "pool. Columns as in [balance-table](balance-table.md).",
      {},
      sensitivity_page};
  StudyCase constants{"Constants of brh, G = 8, B = 32", group_of(8, 32), {{first_come, 0, false}, {br0, 0, false}}};
  for (const double beta : {1.0, 24.0, 48.0, 96.0}) constants.lines.push_back({oracle_of(beta, 0.9)});
  for (const double gamma : {0.5, 0.7, 1.0}) constants.lines.push_back({oracle_of(48, gamma)});
  study.cases.push_back(std::move(constants));
  for (const double pool : {1.0, 2.0, 4.0, 8.0, 16.0, 125.0}) {
    Options options = group_of(8, 32);
    options.pool = pool;
    study.cases.push_back({fmt::format("{:g} a worker waiting", pool),
                           options,
                           {{first_come}, {br0}, {br0, 40}, {brh_survival, 40}, {balance_full_slots}, {"balance"}}});
  }
  return study;
}

}  // namespace evenkeel::simulation
