#include "cli/plan_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/flag_values.hpp"
#include "cli/output_file.hpp"
#include "cli/plan_source.hpp"
#include "planning/fleet_reserve.hpp"
#include "planning/level.hpp"
#include "planning/to_set.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"

namespace evenkeel::cli {

namespace {

namespace json = boost::json;
using planning::FleetPlan;

constexpr std::size_t most_values = 2000;

struct SweepFlags : PlanSource {
  std::string over = "nodes";
  std::string values;
  std::string plot;
};

/// One thing that can be varied: what it may be, and what it changes.
struct Knob {
  std::string_view name;
  std::string_view title;
  double low;
  double high;
  bool compares;  ///< the demand varies and the fleet does not: does the reserve as given suffice?
  FleetPlan (*apply)(FleetPlan, double);
};

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> all{
      {"nodes", "workers", 1, 100'000, false,
       [](FleetPlan p, double v) { return with_nodes(std::move(p), std::llround(v)); }},
      {"correlation", "correlation", 0, 0.999999, true, [](FleetPlan p, double v) { return p.correlation = v, p; }},
      {"surge", "rates times", 1e-6, 1e6, true,
       [](FleetPlan p, double v) { return with_rates_times(std::move(p), v); }},
      {"level", "level", 1e-6, 1 - 1e-9, false, [](FleetPlan p, double v) { return p.level = v, p; }},
      {"staleness", "staleness, s", 0, 1e6, false, [](FleetPlan p, double v) { return p.staleness_s = v, p; }},
      {"correlated-share", "correlated share", 0, 1, false,
       [](FleetPlan p, double v) { return p.correlated_share = v, p; }},
      {"scale-time", "scale time, s", 1e-3, 1e6, false, [](FleetPlan p, double v) { return p.scale_time_s = v, p; }}};
  return all;
}

/// A value, or FROM:TO:STEP with STEP 1 by default.
bool add_values(std::string_view text, const Knob& knob, std::vector<double>& values) {
  std::vector<double> ends;
  for (const std::string_view part : split(text, ':')) {
    const auto number = parse_double(trim(part));
    const auto level = knob.name == "level" ? planning::level_of_text(trim(part)) : Result<double>(failure(""));
    if (!number && !level) return false;
    ends.push_back(level ? *level : *number);
  }
  if (ends.size() > 3) return false;
  const double step = ends.size() == 3 ? ends[2] : 1;
  const double last = ends.size() == 1 ? ends[0] : ends[1];
  if (!(step > 0) || !(last >= ends[0])) return false;
  const double count = std::floor((last - ends[0]) / step * (1 + 1e-12));
  if (count + static_cast<double>(values.size()) >= most_values) return false;
  for (int i = 0; i <= static_cast<int>(count); ++i) values.push_back(ends[0] + step * i);
  return true;
}

Result<std::vector<double>> values_of(const std::string& text, const Knob& knob) {
  const auto refuse = [&] {
    return failure(
        fmt::format("--values: \"{}\"; allowed: up to {} numbers from {:g} to {:g}{}, with commas, or FROM:TO:STEP",
                    text, most_values, knob.low, knob.high, knob.name == "nodes" ? ", whole" : ""));
  };
  std::vector<double> values;
  for (const std::string_view part : split(text, ',')) {
    if (!add_values(part, knob, values)) return refuse();
  }
  const bool good = std::ranges::all_of(values, [&](double v) {
    return v >= knob.low && v <= knob.high && (knob.name != "nodes" || v == std::floor(v));
  });
  if (!good) return refuse();
  return values;
}

struct Row {
  double value = 0;
  planning::Reserve reserve;
  double to_set = 0;
  std::optional<double> covered;  ///< level at which the reserve of the fleet as given suffices
};

Result<double> total_to_set(const FleetPlan& plan, const planning::FleetReserve& reserve) {
  if (plan.staleness_s == 0 && plan.correlated_share == 1) return reserve.total.pooled;
  double sum = 0;
  for (const auto& groups : reserve.pools) {
    const auto set = planning::reserve_to_set(plan, 0, groups);
    if (!set) return tl::unexpected(set.error());
    sum += set->total();
  }
  return sum;
}

/// Only where the demand changes and the fleet does not, and one pool answers for all.
Result<std::optional<double>> coverage_of(const FleetPlan& plan, const Knob& knob,
                                          const planning::FleetReserve& as_given) {
  if (!knob.compares || as_given.pools.size() != 1) return std::nullopt;
  const auto demand = planning::window_demand(plan, 0, planning::rates_of(plan, as_given.pools[0]), plan.scale_time_s);
  const auto covered = planning::coverage(demand, as_given.total.pooled);
  if (!covered) return tl::unexpected(covered.error());
  return *covered;
}

Result<std::vector<Row>> rows_of(const FleetPlan& plan, const Knob& knob, const std::vector<double>& values,
                                 planning::Evaluator evaluator) {
  const auto as_given = planning::fleet_reserve(plan, 0, evaluator);
  if (!as_given) return tl::unexpected(as_given.error());
  std::vector<Row> rows;
  for (const double value : values) {
    const FleetPlan varied = knob.apply(plan, value);
    if (auto ok = varied.check(); !ok) return failure(fmt::format("{} {:g}: {}", knob.name, value, ok.error().message));
    const auto reserve = planning::fleet_reserve(varied, 0, evaluator);
    if (!reserve) return tl::unexpected(reserve.error());
    const auto to_set = total_to_set(varied, *reserve);
    if (!to_set) return tl::unexpected(to_set.error());
    const auto covered = coverage_of(varied, knob, *as_given);
    if (!covered) return tl::unexpected(covered.error());
    rows.push_back({value, reserve->total, *to_set, *covered});
  }
  return rows;
}

std::string to_json(const FleetPlan& plan, const Knob& knob, const std::vector<Row>& rows) {
  json::array out;
  for (const Row& row : rows) {
    json::object entry{{"value", row.value},
                       {"nodes", row.reserve.nodes},
                       {"pooled_gb", row.reserve.pooled},
                       {"share", row.reserve.share()},
                       {"siloed_gb", row.reserve.siloed},
                       {"siloed_share", row.reserve.siloed / row.reserve.capacity},
                       {"saving_gb", row.reserve.saving()},
                       {"mean_gb", row.reserve.mean},
                       {"sd_gb", row.reserve.sd},
                       {"excess_sd", row.reserve.excess_sd()},
                       {"floor_share", row.reserve.floor_share()},
                       {"capacity_gb", row.reserve.capacity},
                       {"to_set_gb", row.to_set},
                       {"evaluator", planning::name_of(row.reserve.evaluator)}};
    if (row.covered) entry["covered"] = *row.covered;
    out.emplace_back(std::move(entry));
  }
  return json::serialize(json::object{{"over", knob.name}, {"level", plan.level}, {"rows", std::move(out)}}) + "\n";
}

std::string to_text(const Knob& knob, const std::vector<Row>& rows) {
  const bool covered = rows.front().covered.has_value();
  std::vector<report::Column> columns{
      {std::string(knob.title)}, {"reserve GB"}, {"share"}, {"siloed GB"}, {"share"}, {"excess/sd"}, {"to set GB"}};
  if (covered) columns.push_back({"covered as given"});
  report::Table table(std::move(columns));
  const auto percent = [](double share) { return fmt::format("{:.2f} %", 100 * share); };
  for (const Row& row : rows) {
    std::vector<std::string> cells{fmt::format("{:g}", row.value),
                                   report::fixed(row.reserve.pooled, 2),
                                   percent(row.reserve.share()),
                                   report::fixed(row.reserve.siloed, 2),
                                   percent(row.reserve.siloed / row.reserve.capacity),
                                   report::fixed(row.reserve.excess_sd(), 3),
                                   report::fixed(row.to_set, 2)};
    if (covered) cells.push_back(percent(*row.covered));
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string to_svg(const FleetPlan& plan, const Knob& knob, const std::vector<Row>& rows) {
  report::LineChart chart;
  chart.title = fmt::format("Reserve at level {:.4g} for {:g} s", plan.level, plan.scale_time_s);
  chart.x = {std::string(knob.title), knob.name == "nodes"};
  chart.y.title = "% of the fleet's memory";
  chart.series = {{"siloed", {}, {}}, {"pooled", {}, {}}, {"to set", {}, {}}, {"floor: mean demand", {}, {}}};
  for (const Row& row : rows) {
    const double shares[] = {row.reserve.siloed / row.reserve.capacity, row.reserve.share(),
                             row.to_set / row.reserve.capacity, row.reserve.floor_share()};
    for (std::size_t i = 0; i < 4; ++i) {
      chart.series[i].x.push_back(row.value);
      chart.series[i].y.push_back(100 * shares[i]);
    }
  }
  return report::to_svg(chart);
}

/// What varies needs no value beside; only the reserve as given is compared with, where the demand varies.
Result<void> check_use(const CLI::App& command, const Knob& knob) {
  const std::string flag = fmt::format("--{}", knob.name);
  if (knob.compares || command.count(flag) == 0) return {};
  return failure(fmt::format("{} has no effect with --over {}", flag, knob.name));
}

Result<int> sweep(const CLI::App& command, const SweepFlags& flags) {
  const auto knob = std::ranges::find(knobs(), flags.over, &Knob::name);
  if (auto ok = check_use(command, *knob); !ok) return tl::unexpected(ok.error());
  const auto values = values_of(flags.values, *knob);
  if (!values) return tl::unexpected(values.error());
  if (!flags.plot.empty()) {
    if (auto ok = check_output_file("--plot", flags.plot); !ok) return tl::unexpected(ok.error());
  }
  const auto plan = flags.read();
  if (!plan) return tl::unexpected(plan.error());
  const auto evaluator = flags.read_evaluator();
  if (!evaluator) return tl::unexpected(evaluator.error());
  const auto rows = rows_of(*plan, *knob, *values, *evaluator);
  if (!rows) return tl::unexpected(rows.error());
  if (!flags.plot.empty()) {
    if (auto written = write_output_file("--plot", flags.plot, to_svg(*plan, *knob, *rows)); !written) {
      fmt::print(stderr, "evenkeel plan sweep: {}\n", written.error().message);
      return 1;
    }
  }
  fmt::print("{}", flags.json ? to_json(*plan, *knob, *rows) : to_text(*knob, *rows));
  return 0;
}

}  // namespace

void add_plan_sweep(CLI::App& plan, int& exit_code) {
  CLI::App* const command = plan.add_subcommand("sweep", "the reserve of memory while one thing varies");
  auto flags = std::make_shared<SweepFlags>();
  flags->add_to(*command);
  std::vector<std::string> names;
  for (const Knob& knob : knobs()) names.emplace_back(knob.name);
  command->add_option("--over", flags->over, "what varies")->check(one_of(names))->capture_default_str();
  command->add_option("--values", flags->values, "1,2,5 or FROM:TO or FROM:TO:STEP")->check(text())->required();
  command->add_option("--plot", flags->plot, "the same as SVG")->check(text());
  command->footer("Exit codes: 0 fine, 1 the picture could not be written, 2 usage or a plan that is refused.");
  command->callback([command, flags, &exit_code] {
    const Result<int> code = sweep(*command, *flags);
    if (!code) fmt::print(stderr, "evenkeel plan sweep: {}\n", code.error().message);
    exit_code = code.value_or(2);
  });
}

}  // namespace evenkeel::cli
