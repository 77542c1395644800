// Routing on old snapshots: one window of heavy arrivals, with and without debits.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/moments.hpp"
#include "simulation/stale_window.hpp"
#include "simulation/tiled_charts.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int workers = 32;

struct Rule {
  std::string_view name;
  std::size_t sampled;
  bool debits;
};
constexpr std::array rules = {Rule{"d=1", 1, false}, Rule{"d=2", 2, false}, Rule{"d=2, debits", 2, true},
                              Rule{"argmax", workers, false}, Rule{"argmax, debits", workers, true}};

struct Start {
  std::string_view name;
  StartRange range;
};
constexpr Start ordinary = {"ordinary", {3.08, 1e300}};
constexpr Start tight = {"3.08 to 8 GB left", {3.08, 8}};

struct Setting {
  Start start;
  double factor;
  double refresh_s;
};
constexpr std::array settings = {Setting{ordinary, 1, 0.3}, Setting{ordinary, 1, 15}, Setting{ordinary, 1, 90},
                                 Setting{ordinary, 4, 0.3}, Setting{ordinary, 4, 15}, Setting{ordinary, 4, 90},
                                 Setting{tight, 1, 0.3},    Setting{tight, 1, 15},    Setting{tight, 1, 90}};

struct Tally {
  Moments most_on_one;
  Moments lowest_gb;
  Moments lowest_ever_gb;
  double arrivals = 0;
  double refused = 0;

  void add(const StaleWindowTally& one) {
    most_on_one.add(one.most_on_one);
    lowest_gb.add(one.lowest_at_close_gb);
    lowest_ever_gb.add(one.lowest_gb);
    arrivals += one.arrivals;
    refused += one.refused;
  }
  [[nodiscard]] double refused_share() const { return arrivals > 0 ? refused / arrivals : 0; }
};

/// Windows with the same starts and arrivals under every rule: the k-th is drawn from seed and k alone.
class Windows {
 public:
  Windows(const ExperimentRun& run, std::int64_t parts)
      : run_(run), whole_(static_cast<double>(parts * run.trials)), plan_(planning::splitwise_70b(workers, 0.334)) {}

  Tally play(const StaleWindow& window, std::int64_t trials) {
    Tally tally;
    for (std::int64_t k = 0; k < trials; ++k) {
      Random random(mix64(run_.seed) + static_cast<std::uint64_t>(k));
      auto nodes = stationary_nodes(plan_, plan_.groups.front(), window.start, 1, random);
      Random arrivals = random.split();
      tally.add(run_stale_window(plan_, window, std::move(nodes), arrivals, random.split()));
      run_.tell(++done_, whole_);
    }
    return tally;
  }

 private:
  const ExperimentRun& run_;
  double whole_;
  double done_ = 0;
  planning::FleetPlan plan_;
};

StaleWindow window_of(const Setting& setting, const Rule& rule) {
  StaleWindow window;
  window.start = setting.start.range;
  window.rate_factor = setting.factor;
  window.refresh_s = setting.refresh_s;
  window.sampled = rule.sampled;
  window.debits = rule.debits;
  return window;
}

using Row = std::array<Tally, rules.size()>;

ExperimentTable table_of(const std::vector<Row>& rows) {
  ExperimentTable table{"One window",
                        "Most placements on one worker / refused, % / headroom of the fullest at the close, GB.",
                        {"start", "rate x", "snapshot every s"},
                        {}};
  for (const Rule& rule : rules) table.columns.emplace_back(rule.name);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<Cell> cells = {words(std::string(settings[i].start.name)), number(settings[i].factor, 0),
                               number(settings[i].refresh_s, 1)};
    for (const Tally& each : rows[i]) {
      cells.push_back(
          words(fmt::format("{} / {} / {}", report::fixed(each.most_on_one.mean(), 1),
                            report::fixed(100 * each.refused_share(), 1), report::fixed(each.lowest_gb.mean(), 1))));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void add_figures(const std::vector<Row>& rows, ExperimentResult& result) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < rules.size(); ++k) {
      const std::string key =
          fmt::format("{}_x{}_{}s_d{}{}", settings[i].start.name == ordinary.name ? "ordinary" : "tight",
                      settings[i].factor, settings[i].refresh_s, rules[k].sampled, rules[k].debits ? "_debits" : "");
      result.figures.push_back({key + "_worst", rows[i][k].most_on_one.mean()});
      result.figures.push_back({key + "_refused_percent", 100 * rows[i][k].refused_share()});
      result.figures.push_back({key + "_lowest_gb", rows[i][k].lowest_gb.mean()});
    }
  }
}

/// By place in `settings` and `rules`.
std::vector<Finding> findings_of(const std::vector<Row>& rows) {
  const auto worst = [&](std::size_t setting, std::size_t rule) { return rows[setting][rule].most_on_one.mean(); };
  const auto refused = [&](std::size_t setting, std::size_t rule) { return rows[setting][rule].refused_share(); };
  const auto lowest = [&](std::size_t setting, std::size_t rule) { return rows[setting][rule].lowest_gb.mean(); };
  return {
      {fmt::format("At the baseline rate the better of two does not feel 15 s: most placements {} and {} on snapshots "
                   "every 0.3 and 15 s; near the redline {} and {} with {} and {} refused.",
                   report::fixed(worst(0, 1), 2), report::fixed(worst(1, 1), 2), report::fixed(worst(6, 1), 2),
                   report::fixed(worst(7, 1), 2), report::percent(refused(6, 1)), report::percent(refused(7, 1))),
       std::abs(worst(1, 1) / worst(0, 1) - 1) < 0.1 && std::abs(worst(7, 1) / worst(6, 1) - 1) < 0.1 &&
           refused(7, 1) - refused(6, 1) < 0.015},
      {fmt::format("At four times the rate and 15 s the argmax collapses: {} placements on one worker and {} GB of "
                   "headroom there; debits bring it back to {} and {} GB.",
                   report::fixed(worst(4, 3), 1), report::fixed(lowest(4, 3), 1), report::fixed(worst(4, 4), 1),
                   report::fixed(lowest(4, 4), 1)),
       worst(4, 3) > 2 * worst(4, 4) && lowest(4, 3) < 0 && lowest(4, 4) > 3.08},
      {fmt::format("Near the redline {} of what is placed at random is refused, of the better of two {}.",
                   report::percent(refused(6, 0)), report::percent(refused(6, 1))),
       refused(6, 0) > 0.1 && refused(6, 1) < 0.03},
      {fmt::format("Residents grow: refusing at 3.08 GB leaves {} GB at the fullest worker at the close, near the "
                   "redline, with snapshots of 0.3 s.",
                   report::fixed(lowest(6, 1), 2)),
       lowest(6, 1) < 3.08 / 2},
  };
}

constexpr std::array sweep_s = {0.3, 1.0, 3.0, 10.0, 15.0, 30.0, 90.0};
constexpr std::array sweep_factors = {1.0, 4.0, 16.0};

struct SweepRow {
  double factor;
  double refresh_s;
  std::array<Tally, 5> tallies;  ///< d=1; d=2; d=2 with debits of 1, 4, 16 routers
};

std::vector<SweepRow> sweep(Windows& windows, std::int64_t trials) {
  std::vector<SweepRow> rows;
  for (const double factor : sweep_factors) {
    for (const double refresh_s : sweep_s) {
      SweepRow row{factor, refresh_s, {}};
      StaleWindow window = window_of({tight, factor, refresh_s}, rules[0]);
      row.tallies[0] = windows.play(window, trials);
      window.sampled = 2;
      row.tallies[1] = windows.play(window, trials);
      window.debits = true;
      std::size_t place = 2;
      for (const std::size_t routers : {1U, 4U, 16U}) {
        window.routers = routers;
        row.tallies[place++] = windows.play(window, trials);
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

ExperimentTable sweep_table(const std::vector<SweepRow>& rows) {
  ExperimentTable table{"Where two stop being better than one",
                        "Start near the redline; most placements on one worker / refused, %. Debits are each router's "
                        "own.",
                        {"rate x", "snapshot every s", "d=1", "d=2", "d=2, debits", "of 4 routers", "of 16 routers"},
                        {}};
  for (const SweepRow& row : rows) {
    std::vector<Cell> cells = {number(row.factor, 0), number(row.refresh_s, 1)};
    for (const Tally& each : row.tallies) {
      cells.push_back(words(fmt::format("{} / {}", report::fixed(each.most_on_one.mean(), 1),
                                        report::fixed(100 * each.refused_share(), 1))));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// The first age of the sweep at which more is refused with d = 2 than with d = 1; 0: none.
double threshold(const std::vector<SweepRow>& rows, double factor, std::size_t column) {
  for (const SweepRow& row : rows) {
    if (row.factor == factor && row.tallies[column].refused_share() > row.tallies[0].refused_share()) {
      return row.refresh_s;
    }
  }
  return 0;
}

Finding threshold_finding(const std::vector<SweepRow>& rows, ExperimentResult& result) {
  std::string text = "Two stop being better than one, by what is refused near the redline";
  for (const double factor : sweep_factors) {
    const double plain = threshold(rows, factor, 1);
    const double debits = threshold(rows, factor, 2);
    result.figures.push_back({fmt::format("threshold_x{}_s", factor), plain});
    result.figures.push_back({fmt::format("threshold_debits_x{}_s", factor), debits});
    const auto at = [](double s) { return s > 0 ? fmt::format("at {} s", s) : std::string("at no age up to 90 s"); };
    text += fmt::format("{} at rate x {}: {} (with debits {})", factor == sweep_factors[0] ? "," : ";", factor,
                        at(plain), at(debits));
  }
  // Whatever the age, one window of the baseline rate does not turn the comparison round.
  return {text + ".", threshold(rows, 1, 1) == 0};
}

std::string picture(const std::vector<SweepRow>& rows) {
  constexpr std::array<std::string_view, 5> names = {"d=1", "d=2", "d=2, debits", "of 4 routers", "of 16 routers"};
  std::vector<std::string> charts;
  for (const double factor : sweep_factors) {
    report::LineChart chart;
    chart.title = fmt::format("Refused near the redline, rate x {}", factor);
    chart.x = {"snapshot every, s", true};
    chart.y = {"%"};
    for (std::size_t k = 0; k < names.size(); ++k) {
      report::Series series{std::string(names[k]), {}, {}};
      for (const SweepRow& row : rows) {
        if (row.factor != factor) continue;
        series.x.push_back(row.refresh_s);
        series.y.push_back(100 * row.tallies[k].refused_share());
      }
      chart.series.push_back(std::move(series));
    }
    charts.push_back(report::to_svg(chart));
  }
  return tiled_charts(charts, 3);
}

ExperimentResult headroom_staleness(const ExperimentRun& run) {
  constexpr std::int64_t main_parts = settings.size() * rules.size();
  // The sweep is a picture, not a table to be met: a quarter of the windows will do.
  const std::int64_t sweep_trials = std::max<std::int64_t>(1, run.trials / 4);
  constexpr std::int64_t sweep_parts = sweep_s.size() * sweep_factors.size() * 5;
  Windows windows(run, main_parts + sweep_parts / 4 + 1);
  std::vector<Row> rows;
  for (const Setting& setting : settings) {
    Row row;
    for (std::size_t k = 0; k < rules.size(); ++k) row[k] = windows.play(window_of(setting, rules[k]), run.trials);
    rows.push_back(std::move(row));
  }
  const std::vector<SweepRow> swept = sweep(windows, sweep_trials);
  ExperimentResult result;
  add_figures(rows, result);
  result.findings = findings_of(rows);
  result.findings.push_back(threshold_finding(swept, result));
  result.tables = {table_of(rows), sweep_table(swept)};
  result.picture = picture(swept);
  return result;
}

}  // namespace

FleetExperiment headroom_staleness_experiment() {
  return {
      "headroom-staleness",
      "Headroom that is seen late",
      "32 workers of 31.80 GB with 88.8 heavy tasks an hour each, Pareto of mean 300 s and index 2.2, in their steady "
      "state; one window of 90 s. A task goes to the sampled worker with the most headroom in the snapshot, which is "
      "taken of all workers together every so often. A worker refuses while its headroom is at or under 3.08 GB, "
      "whatever the task needs; what is refused is gone. `ordinary` starts have at least 3.08 GB at each worker. "
      "Debits take off 0.557 GB, a task's mean at the window's close, for each placement since the snapshot. "
      "Windows have the same starts and arrivals under all rules.",
      "windows a cell",
      400,
      headroom_staleness};
}

}  // namespace evenkeel::simulation
