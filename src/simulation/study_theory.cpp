// First come first served and br0 against arXiv 2601.17855, theorem 1: prompts even on 1..50, outputs geometric.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/markdown.hpp"
#include "simulation/stationary_law.hpp"
#include "simulation/studies.hpp"
#include "simulation/study_parts.hpp"
#include "simulation/study_workload.hpp"
#include "simulation/tiled_charts.hpp"

namespace evenkeel::simulation {

namespace {

constexpr std::int64_t longest_prompt = 50;
constexpr double stop = 0.02;
/// The nearest to the optimum of a step that can be computed at these sizes.
constexpr const char* whole_pool = "br0[window=all]";
constexpr double Metrics::*imbalance = &Metrics::mean_imbalance;

Options theory_group(std::int64_t workers, std::int64_t slots) {
  Options options = group_of(workers, slots);
  options.prompts = fmt::format("uniform:1:{}", longest_prompt);
  options.outputs = fmt::format("geometric:{}", stop);
  options.pool_requests = std::max<std::int64_t>(workers * slots * 3 / 2, 4);
  return options;
}

/// sqrt(B log G)
double scale_of(const CaseResult& result) {
  return std::sqrt(static_cast<double>(result.setting.engine.slots) *
                   std::log(static_cast<double>(result.setting.workers)));
}

// --- the exact law ---------------------------------------------------------------------------------------------

struct Deviation {
  double exact = 0;
  double percent = 0;
  double percent_error = 0;
};

double exact_of(const CaseResult& result) {
  return stationary_imbalance(static_cast<std::int64_t>(result.setting.workers), result.setting.engine.slots,
                              longest_prompt, stop);
}

Deviation deviation(const CaseResult& result) {
  Deviation out;
  out.exact = exact_of(result);
  const Summary& line = result.lines.front();
  out.percent = 100 * (line.mean.mean_imbalance / out.exact - 1);
  out.percent_error = 100 * line.error.mean_imbalance / out.exact;
  return out;
}

std::string exact_table(const StudyResults& results) {
  MarkdownTable table({"G, B", "steps", "exact", "simulated", "off by, %"});
  for (const CaseResult& result : results) {
    const Deviation off = deviation(result);
    table.add_row({fmt::format("{}, {}", result.setting.workers, result.setting.engine.slots),
                   report::grouped(result.setting.steps), report::fixed(off.exact, 1),
                   text_of(estimate(result.lines.front(), imbalance), 1),
                   text_of({off.percent, off.percent_error}, 2)});
  }
  return table.text();
}

// --- the growth of the ratio ------------------------------------------------------------------------------------

/// y = intercept + slope x by least squares.
struct Fit {
  double slope = 0;
  double intercept = 0;
  double r2 = 0;
};

Fit fit(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mean_x += x[i] / count, mean_y += y[i] / count;
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  Fit line;
  line.slope = xx > 0 ? xy / xx : 0;
  line.intercept = mean_y - line.slope * mean_x;
  line.r2 = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
  return line;
}

/// The points of one group size, or of all.
struct Points {
  std::string label;
  std::vector<double> x;  ///< sqrt(B log G)
  std::vector<double> y;  ///< imbalance of first come first served over that of br0
};

/// First come first served, by its exact law, over br0 as simulated.
Estimate over_br0(const CaseResult& result) {
  const Summary& line = result.lines.front();
  const double value = exact_of(result) / line.mean.mean_imbalance;
  return {value, value * line.error.mean_imbalance / line.mean.mean_imbalance};
}

std::vector<Points> points_by_group(const StudyResults& results) {
  std::vector<Points> all;
  for (const CaseResult& result : results) {
    const std::string label = fmt::format("G = {}", result.setting.workers);
    if (all.empty() || all.back().label != label) all.push_back({label, {}, {}});
    all.back().x.push_back(scale_of(result));
    all.back().y.push_back(over_br0(result).value);
  }
  return all;
}

Points together(const std::vector<Points>& groups) {
  Points all{"all", {}, {}};
  for (const Points& each : groups) {
    all.x.insert(all.x.end(), each.x.begin(), each.x.end());
    all.y.insert(all.y.end(), each.y.begin(), each.y.end());
  }
  return all;
}

std::string ratio_table(const StudyResults& results) {
  MarkdownTable table({"G, B", "steps", "first come, exact", "br0, whole pool", "ratio", "sqrt(B log G)",
                       "ratio / sqrt", "(G - 1) s / p"});
  for (const CaseResult& result : results) {
    const Estimate both = over_br0(result);
    table.add_row({fmt::format("{}, {}", result.setting.workers, result.setting.engine.slots),
                   report::grouped(result.setting.steps), report::fixed(exact_of(result), 0),
                   text_of(estimate(result.lines.front(), imbalance), 0), text_of(both, 2),
                   report::fixed(scale_of(result), 2), report::fixed(both.value / scale_of(result), 3),
                   report::grouped(std::llround(static_cast<double>(result.setting.workers - 1) *
                                                static_cast<double>(longest_prompt) / stop))});
  }
  return table.text();
}

std::string fit_table(const std::vector<Points>& groups) {
  MarkdownTable table({"points", "slope", "intercept", "R²"});
  const auto row = [&](const Points& points) {
    const Fit line = fit(points.x, points.y);
    table.add_row(
        {points.label, report::fixed(line.slope, 3), report::fixed(line.intercept, 2), report::fixed(line.r2, 4)});
  };
  for (const Points& each : groups) row(each);
  row(together(groups));
  return table.text();
}

std::string ratio_chart(const std::vector<Points>& groups) {
  report::LineChart chart;
  chart.title = "First come first served over br0 with the whole pool";
  chart.x = {"sqrt(B log G)"};
  chart.y = {"ratio of mean imbalance"};
  for (const Points& each : groups) chart.series.push_back({each.label, each.x, each.y});
  const Points all = together(groups);
  const Fit line = fit(all.x, all.y);
  const auto [low, high] = std::minmax_element(all.x.begin(), all.x.end());
  chart.series.push_back(
      {"fit to all", {*low, *high}, {line.intercept + line.slope * *low, line.intercept + line.slope * *high}});
  return report::to_svg(chart);
}

std::string imbalance_chart(const StudyResults& results) {
  report::LineChart chart;
  chart.title = "Imbalance over slots a worker";
  chart.x = {"slots a worker", true};
  chart.y = {"KV tokens", true};
  for (const bool exact : {true, false}) {
    for (const CaseResult& result : results) {
      const std::string label =
          fmt::format("{}, G = {}", exact ? "first come, exact" : "br0, whole pool", result.setting.workers);
      if (chart.series.empty() || chart.series.back().name != label) chart.series.push_back({label, {}, {}});
      chart.series.back().x.push_back(static_cast<double>(result.setting.engine.slots));
      chart.series.back().y.push_back(exact ? exact_of(result) : result.lines.front().mean.mean_imbalance);
    }
  }
  return report::to_svg(chart);
}

StudyPage theory_page(const StudyResults& results) {
  StudyResults exact;
  StudyResults growing;
  for (const CaseResult& result : results) {
    (result.find(first_come) != nullptr ? exact : growing).push_back(result);
  }
  double off = 0;
  for (const CaseResult& result : exact) off = std::max(off, std::abs(deviation(result).percent));
  const auto groups = points_by_group(growing);
  const Points all = together(groups);
  const Fit line = fit(all.x, all.y);
  std::string by_group;
  for (const Points& each : groups) {
    const Fit one = fit(each.x, each.y);
    by_group += fmt::format("{}{}: slope {}, R² {}", by_group.empty() ? "" : "; ", each.label,
                            report::fixed(one.slope, 3), report::fixed(one.r2, 4));
  }
  StudyPage page;
  page.tables = fmt::format(
      "## The exact law\n\n{}\n{}\n## Growth of the ratio\n\n{}\nLeast squares of the ratio on "
      "sqrt(B log G):\n\n{}\n{}\n",
      exact_table(exact), commands(exact.front()), ratio_table(growing), fit_table(groups), commands(growing.front()));
  page.findings =
      bullets({fmt::format("The simulation is off the exact law by at most {} percent.", report::fixed(off, 2)),
               fmt::format("Over all sizes the ratio is {} + {} sqrt(B log G), R² {}.",
                           report::fixed(line.intercept, 2), report::fixed(line.slope, 3), report::fixed(line.r2, 3)),
               fmt::format("With B alone growing: {}.", by_group)});
  page.picture = tiled_charts({ratio_chart(groups), imbalance_chart(growing)}, 1);
  return page;
}

}  // namespace

Study theory_study() {
  Study study{
      "theory",
      "Even load: simulation against theory",
      "Prompts even on 1 to s = 50, outputs geometric with p = 0.02, all slots full and at least 1.5 times as many "
      "requests waiting as in service. In the long run every rule that admits in order of arrival has a worker's "
      "load distributed as a sum of B independent prompts and ages, so its imbalance can be computed (by "
      "convolution, without a simulation). Theorem 1 of arXiv 2601.17855 says that the exact minimum of each step "
      "stays under (G - 1)(s + eps) / p, eps vanishing for large B, while first come first served grows at least "
      "as sqrt(B log G) times a constant; `br0` with the whole pool is the best approximation of that minimum "
      "which can be computed here; it is simulated, first come first served taken from its exact law. Only the growth "
      "can be checked: the constants proved are orders below.",
      {},
      theory_page};
  struct Size {
    std::int64_t workers, slots;
    double length;
  };
  for (const Size& size : {Size{4, 16, 2}, Size{16, 64, 0.4}, Size{4, 256, 0.5}}) {
    study.cases.push_back({fmt::format("exact law, G = {}, B = {}", size.workers, size.slots),
                           theory_group(size.workers, size.slots),
                           {{first_come}},
                           size.length});
  }
  for (const std::int64_t workers : {4, 8, 16, 32}) {
    for (const std::int64_t slots : {16, 32, 64, 128, 256}) {
      // A step that looks at the whole pool costs the square of the slots: fewer of them where there are many.
      const auto in_all = static_cast<double>(workers * slots);
      if (in_all > 4096 || (workers == 32 && slots > 64)) continue;
      study.cases.push_back({fmt::format("G = {}, B = {}", workers, slots),
                             theory_group(workers, slots),
                             {{whole_pool}},
                             std::pow(64 / in_all, 1.4)});
    }
  }
  return study;
}

}  // namespace evenkeel::simulation
