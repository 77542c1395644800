#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/plan_answer.hpp"
#include "planning/level.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"

namespace evenkeel::cli {

namespace {

using planning::FleetPlan;
using report::Align;

/// Two decimals, thousands grouped.
std::string amount(double value) {
  const double rounded = std::round(std::abs(value) * 100) / 100;
  const double whole = std::floor(rounded);
  return (value < 0 ? "-" : "") + report::grouped(static_cast<std::int64_t>(whole)) +
         report::fixed(rounded - whole, 2).substr(1);
}

std::string share_of(double share) { return fmt::format("{:.2f} %", 100 * share); }

/// The line to act on.
std::string headline(const ReserveAnswer& answer) {
  const planning::Reserve& memory = answer.resources.front().reserve.total;
  std::string line = fmt::format("reserve {} GB of {} GB = {}; siloed would be {} GB", amount(memory.pooled),
                                 amount(memory.capacity), share_of(memory.share()), amount(memory.siloed));
  const double sequences = answer.plan.sequence_gb > 0 ? memory.saving() / answer.plan.sequence_gb : 0;
  if (sequences >= 1 && sequences < 1e15 && memory.nodes > 1) {
    line += fmt::format("; frees room for {} sequences", report::grouped(static_cast<std::int64_t>(sequences)));
  }
  double to_keep = 0;
  for (const auto& pool : answer.resources.front().pools) to_keep += pool.to_set.total();
  if (std::abs(to_keep - memory.pooled) >= 0.005) {
    line += fmt::format("\nwith two clocks and staleness: keep {} GB = {}", amount(to_keep),
                        share_of(to_keep / memory.capacity));
  }
  if (std::max(to_keep, memory.pooled) >= memory.capacity) {
    line += "\nthis fleet is too small: what arrives in one window takes more than it has";
  }
  return line + "\n";
}

std::string names_of(const FleetPlan& plan, const std::vector<std::size_t>& groups) {
  std::string names;
  for (const std::size_t g : groups) names += (names.empty() ? "" : "+") + plan.groups[g].name;
  return names;
}

std::string reserve_table(const ReserveAnswer& answer) {
  report::Table table({{"resource", Align::left},
                       {"pool", Align::left},
                       {"nodes"},
                       {"capacity"},
                       {"reserve"},
                       {"share"},
                       {"siloed"},
                       {"saving"},
                       {"mean"},
                       {"sd"},
                       {"excess/sd"},
                       {"floor"}});
  for (const auto& of : answer.resources) {
    for (std::size_t p = 0; p < of.pools.size(); ++p) {
      const planning::Reserve& reserve = of.reserve.by_pool[p];
      table.add_row({of.reserve.resource, names_of(answer.plan, of.reserve.pools[p]), report::grouped(reserve.nodes),
                     amount(reserve.capacity), amount(reserve.pooled), share_of(reserve.share()),
                     amount(reserve.siloed), amount(reserve.saving()), amount(reserve.mean), amount(reserve.sd),
                     report::fixed(reserve.excess_sd(), 3), share_of(reserve.floor_share())});
    }
  }
  return table.text();
}

/// What goes into the router's and the workers' settings.
std::string settings_tables(const ReserveAnswer& answer) {
  report::Table fleet({{"to keep free together", Align::left},
                       {"resource", Align::left},
                       {"in all"},
                       {"for arrivals"},
                       {"for growth unseen"}});
  report::Table worker({{"to keep free on each", Align::left},
                        {"resource", Align::left},
                        {"for growth"},
                        {"for arrivals on the way"},
                        {"instead, if cut off"}});
  for (const auto& of : answer.resources) {
    for (std::size_t p = 0; p < of.pools.size(); ++p) {
      const planning::ToSet& set = of.pools[p].to_set;
      fleet.add_row({names_of(answer.plan, of.reserve.pools[p]), of.reserve.resource, amount(set.total()),
                     amount(set.arrivals), amount(set.resident_growth)});
    }
    for (std::size_t g = 0; g < of.workers.size(); ++g) {
      const planning::LocalFloor& floor = of.workers[g].floor;
      worker.add_row({answer.plan.groups[g].name, of.reserve.resource, amount(floor.growth), amount(floor.on_the_wire),
                      amount(floor.siloed)});
    }
  }
  return fleet.text() + "\n" + worker.text();
}

std::string overlap_table(const ReserveAnswer& answer) {
  report::Table table({{"arrivals of", Align::left},
                       {"on", Align::left},
                       {"resource", Align::left},
                       {"reserve"},
                       {"capacity"},
                       {"share"}});
  bool any = false;
  for (const auto& of : answer.resources) {
    for (const auto& pool : of.pools) {
      for (const auto& condition : pool.overlap) {
        std::string models;
        for (const std::size_t m : condition.models) models += (models.empty() ? "" : "+") + answer.plan.models[m].name;
        table.add_row({models, names_of(answer.plan, condition.groups), of.reserve.resource, amount(condition.reserve),
                       amount(condition.capacity), share_of(condition.share())});
        any = true;
      }
    }
  }
  return any ? "\nGroups overlap; each line must hold:\n" + table.text() : "";
}

std::string windows_text(const PoolAnswer& pool) {
  if (!pool.windows) return "";
  report::Table table({{"windows that are open", Align::left}, {"workers"}, {"mean"}, {"reserve"}});
  for (const auto& reading : *pool.windows) {
    table.add_row({std::string(reading.words), report::fixed(reading.open_nodes, 1), amount(reading.mean),
                   amount(reading.reserve)});
  }
  return "\n" + table.text();
}

std::string pools_text(const ReserveAnswer& answer) {
  std::string out;
  const ResourceAnswer& memory = answer.resources.front();
  for (std::size_t p = 0; p < memory.pools.size(); ++p) {
    const PoolAnswer& pool = memory.pools[p];
    const std::string names = names_of(answer.plan, memory.reserve.pools[p]);
    out += windows_text(pool);
    if (pool.cheapest) {
      out += fmt::format("\n{}: the cheapest reserve is {} GB, level {:.6g}, cost {:.4g} a window\n", names,
                         amount(pool.cheapest->reserve), pool.cheapest->level, pool.cheapest->cost);
    }
    if (pool.net_change) {
      out += fmt::format("\n{}, as one memory: change over a window {} GB with departures, {} GB without\n", names,
                         amount(pool.net_change->at_close), amount(pool.net_change->no_departures));
    }
  }
  return out;
}

std::string worker_text(const ReserveAnswer& answer, std::size_t g) {
  const WorkerAnswer& worker = answer.resources.front().workers[g];
  const std::string& name = answer.plan.groups[g].name;
  std::string out;
  if (worker.net_change) {
    out += fmt::format("\none worker of {}: change over a window {} GB with departures, {} GB without\n", name,
                       amount(worker.net_change->at_close), amount(worker.net_change->no_departures));
  }
  if (worker.standing) {
    out += fmt::format(
        "one worker of {} holds {} GB on average, median {}, at the level {}; less than {} GB free {} of "
        "the time, over its capacity {}\n",
        name, amount(worker.standing->mean), amount(worker.standing->median), amount(worker.standing->at_level),
        amount(worker.floor.siloed), share_of(worker.standing->short_of), share_of(worker.standing->over_capacity));
  }
  if (worker.maximum) {
    const auto interval = [](const planning::Drawn& drawn) {
      return fmt::format("{} GB ({} to {})", amount(drawn.value), amount(drawn.low), amount(drawn.high));
    };
    out += fmt::format(
        "greatest change within a window, drawn ({} windows, seed {}; interval of 95 %): {}; if it "
        "refuses everything {}; {} GB cover {} of the windows\n",
        report::grouped(static_cast<std::int64_t>(answer.questions.paths)), answer.questions.seed,
        interval(worker.maximum->all), interval(worker.maximum->no_arrivals), amount(worker.floor.siloed),
        share_of(worker.maximum->covered));
  }
  if (worker.loss) {
    out += fmt::format(
        "one worker of {} fits {} tasks, {:.3g} are offered: {:.3g} of them find no room; {} in service at "
        "the level instead of {}\n",
        name, worker.loss->tasks_that_fit, worker.loss->offered, worker.loss->blocked, worker.loss->occupied,
        worker.loss->occupied_free);
  }
  return out;
}

std::string footprints_table(const FleetPlan& plan) {
  report::Table table({{"a task holds, GB", Align::left},
                       {"at admission"},
                       {"mean at the window's close"},
                       {"all of the window"},
                       {"at its mean age"},
                       {"at a random instant"}});
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    std::vector<std::string> row{plan.models[m].name};
    for (const auto& reading : planning::footprint_readings(plan, 0, m)) row.push_back(report::fixed(reading.held, 3));
    table.add_row(std::move(row));
  }
  return "\n" + table.text();
}

}  // namespace

std::string to_text(const ReserveAnswer& answer) {
  const FleetPlan& plan = answer.plan;
  std::string out = headline(answer) + "\n" + reserve_table(answer) + "\n" + settings_tables(answer);
  out += overlap_table(answer) + pools_text(answer);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) out += worker_text(answer, g);
  if (answer.questions.footprints) out += footprints_table(plan);
  out += fmt::format("\nlevel {:.6g}: with windows of {:g} s one after the other, {:.3g} a month exceed the reserve\n",
                     plan.level, plan.scale_time_s, planning::breaches_per_month(plan.level, plan.scale_time_s));
  for (const auto& [number, words] : answer.resources.front().reserve.provenance(plan)) {
    out += fmt::format("{}: {}\n", number, words);
  }
  for (const auto& [name, words] : details_provenance(answer)) out += fmt::format("{}: {}\n", name, words);
  return out;
}

}  // namespace evenkeel::cli
