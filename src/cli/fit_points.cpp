#include "cli/fit_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/table.hpp"
#include "workload/csv_reader.hpp"

namespace evenkeel::cli {

namespace {

namespace json = boost::json;

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "none seen"; }

std::string interval_text(const maths::Interval& interval) {
  return fmt::format("{} to {}", number(interval.low), number(interval.high));
}

json::value finite(double value) { return std::isfinite(value) ? json::value(value) : json::value(nullptr); }

json::object estimate(double value, const maths::Interval& interval) {
  return {{"value", finite(value)}, {"low", finite(interval.low)}, {"high", finite(interval.high)}};
}

}  // namespace

Result<PointsFit> PointsFit::read(const std::string& path, std::optional<double> planned) {
  constexpr std::array<std::string_view, 2> columns = {"n", "per_s"};
  auto rows = workload::CsvReader::open(path, columns);
  if (!rows) return failure("--points: " + rows.error().message);
  PointsFit fit;
  fit.planned = planned;
  constexpr std::size_t most_points = 100'000;
  while (rows->next()) {
    const double n = rows->number(0, 1, 1e9);
    fit.points.push_back({n, rows->number(1, 1e-12, 1e15)});
    if (fit.points.size() > most_points) rows->reject(fmt::format("more than {} points", most_points));
  }
  if (rows->fault()) return failure("--points: " + rows->fault()->message);
  auto law = maths::fit_scalability(fit.points);
  if (!law) return failure(fmt::format("--points: {}: {}", path, law.error().message));
  fit.law = *law;
  return fit;
}

std::string PointsFit::warning() const {
  const double half = law.peak / 2;
  if (!planned || *planned <= half) return {};
  return fmt::format("{:.6g} are planned, over half of the {:.4g} at which more give less", *planned, law.peak);
}

std::string PointsFit::text() const {
  using report::Align;
  report::Table table({{"what", Align::left}, {"value"}, {"95 %"}, {"from", Align::left}});
  const std::string from = fmt::format("least squares over {} points", law.points);
  table.add_row({"throughput of one", number(law.single), "", "mean of the points at 1"});
  table.add_row({"contention", number(law.contention), interval_text(law.contention_interval), from});
  table.add_row({"coherency", number(law.coherency), interval_text(law.coherency_interval), from});
  table.add_row({"peak", number(law.peak), interval_text(law.peak_interval), "sqrt((1 - a) / b), Fieller's interval"});
  table.add_row({"worst misfit", fmt::format("{:.1f} %", 100 * law.worst_misfit), "", "of measured throughput"});
  std::string out = table.text();
  if (planned) {
    out += fmt::format("\n{:.6g}: {:.4g} a second, {:.4g} times one\n", *planned, law.single * law.capacity(*planned),
                       law.capacity(*planned));
  }
  if (!warning().empty()) out += "warning: " + warning() + "\n";
  return out;
}

std::string PointsFit::json(const std::string& path) const {
  json::object out{{"points", path},
                   {"samples", law.points},
                   {"single_per_s", law.single},
                   {"contention", estimate(law.contention, law.contention_interval)},
                   {"coherency", estimate(law.coherency, law.coherency_interval)},
                   {"peak", estimate(law.peak, law.peak_interval)},
                   {"worst_misfit", law.worst_misfit}};
  out["planned"] = planned ? json::value(*planned) : json::value(nullptr);
  out["planned_per_s"] = planned ? json::value(law.single * law.capacity(*planned)) : json::value(nullptr);
  json::array warnings;
  if (!warning().empty()) warnings.emplace_back(warning());
  out["warnings"] = std::move(warnings);
  return json::serialize(out) + "\n";
}

std::string PointsFit::svg() const {
  report::LineChart chart;
  chart.title = "Throughput and the scalability law";
  chart.x.title = "N";
  chart.y.title = "a second";
  report::Series measured{"measured", {}, {}};
  auto sorted = points;
  std::ranges::sort(sorted, {}, &maths::ScalePoint::n);
  for (const auto& [n, throughput] : sorted) {
    measured.x.push_back(n);
    measured.y.push_back(throughput);
  }
  report::Series fitted{"fitted", {}, {}};
  report::Series linear{"linear", {}, {}};
  const double last = std::max(sorted.back().n, planned.value_or(1));
  constexpr int steps = 100;
  for (int i = 0; i <= steps; ++i) {
    const double n = 1 + (last - 1) * i / steps;
    fitted.x.push_back(n);
    fitted.y.push_back(law.single * law.capacity(n));
  }
  const double highest = *std::ranges::max_element(fitted.y);
  linear.x = {1, std::min(last, highest / law.single)};
  linear.y = {law.single, law.single * linear.x.back()};
  chart.series = {std::move(measured), std::move(fitted), std::move(linear)};
  return report::to_svg(chart);
}

}  // namespace evenkeel::cli
