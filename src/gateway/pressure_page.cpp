#include "gateway/pressure_page.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "observe/counters.hpp"

namespace evenkeel::gateway {
namespace {

using pressure::Stall;
using pressure::Stalls;

std::string text_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string stall_json(const Stall& stall) {
  return fmt::format(R"({{"avg10":{:.2f},"avg60":{:.2f},"avg300":{:.2f}}})", stall.avg10, stall.avg60, stall.avg300);
}

/// Values to JSON; what has a reason in place of a value is null, and its reason is kept once.
class Facts {
 public:
  template <class T, class Show>
  std::string show(const Result<T>& fact, Show show_value) {
    if (fact) return show_value(*fact);
    const std::string reason = text_json(fact.error().message);
    if (std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end()) reasons_.push_back(reason);
    return "null";
  }
  std::string stalls(const Result<Stalls>& stalls) {
    return show(stalls, [](const Stalls& both) {
      return fmt::format(R"({{"some":{},"full":{}}})", stall_json(both.some),
                         both.full ? stall_json(*both.full) : std::string("null"));
    });
  }
  std::string bytes(const Result<Bytes>& size) {
    return show(size, [](Bytes value) { return std::to_string(value.value()); });
  }
  std::string limit(const Result<std::optional<Bytes>>& size) {
    return show(size, [](const std::optional<Bytes>& value) {
      return value ? std::to_string(value->value()) : std::string("\"none\"");
    });
  }
  std::string own(const Result<pressure::OwnCgroup>& cgroup) {
    return show(cgroup, [&](const pressure::OwnCgroup& own) {
      return fmt::format(R"({{"path":{},"used_bytes":{},"limit_bytes":{},"swap_used_bytes":{},"swap_limit_bytes":{},)"
                         R"("stalls":{{"memory":{},"io":{}}}}})",
                         text_json(own.path), bytes(own.used), limit(own.limit), bytes(own.swap_used),
                         limit(own.swap_limit), stalls(own.memory), stalls(own.io));
    });
  }
  std::string cgroups(const Result<pressure::CgroupStalls>& found) {
    return show(found, [](const pressure::CgroupStalls& stalls) {
      std::string rows;
      for (const auto& cgroup : stalls.worst) {
        fmt::format_to(std::back_inserter(rows), R"({}{{"path":{},"memory_full_avg10":{:.2f},"io_full_avg10":{:.2f}}})",
                       rows.empty() ? "" : ",", text_json(cgroup.path), cgroup.memory.avg10, cgroup.io.avg10);
      }
      return fmt::format(R"({{"looked_at":{},"all":{},"worst":[{}]}})", stalls.looked_at, stalls.all, rows);
    });
  }
  [[nodiscard]] std::string not_known() const { return fmt::format("[{}]", fmt::join(reasons_, ",")); }

 private:
  std::vector<std::string> reasons_;
};

}  // namespace

std::string pressure_json(const PressureLook& look, const config::PressureSettings& settings,
                          const Result<pressure::CgroupStalls>& cgroups, Time now) {
  Facts facts;
  const auto& figures = look.figures;
  const auto& reading = look.reading;
  const auto number = [&](const Result<double>& figure) {
    return facts.show(figure, [](double value) { return fmt::format("{:.2f}", value); });
  };
  std::string out = fmt::format(
      R"({{"acts":{},"mode":"{}","sheds":{},"would_shed":{},"reason":{},"age_ms":{},"looks":{},"shed_begun":{},)",
      text_json(settings.mode), pressure::to_string(look.verdict.mode), look.shedding, look.verdict.shed,
      text_json(look.verdict.reason), (now - reading.at) / std::chrono::milliseconds(1), look.looks, look.turns);
  fmt::format_to(std::back_inserter(out),
                 R"("swap_used_percent":{},"memory_stall_percent":{},"swap_ins_per_s":{},"swap_outs_per_s":{},)"
                 R"("iowait_percent":{},"iowait_since_boot":{},)",
                 number(figures.swap_used_percent), number(figures.memory_stall_percent),
                 number(figures.swap_ins_per_s), number(figures.swap_outs_per_s), number(figures.iowait_percent),
                 figures.iowait_since_boot);
  fmt::format_to(std::back_inserter(out),
                 R"("thresholds":{{"evidence":{},"swap_percent":{},"stall_percent":{},"swap_ins":{},)"
                 R"("iowait_percent":{},"hold_ms":{}}},)",
                 text_json(settings.evidence), settings.swap_percent, settings.stall_percent, settings.swap_ins,
                 settings.iowait_percent, settings.hold / std::chrono::milliseconds(1));
  const std::string memory = facts.show(reading.memory, [](const pressure::Memory& m) {
    return fmt::format(R"({{"total_bytes":{},"available_bytes":{}}})", m.total.value(), m.available.value());
  });
  const std::string swap = facts.show(reading.swap, [](const pressure::Swap& s) {
    return fmt::format(R"({{"total_bytes":{},"free_bytes":{}}})", s.total.value(), s.free.value());
  });
  fmt::format_to(std::back_inserter(out),
                 R"("memory":{},"swap":{},"stalls":{{"memory":{},"io":{},"cpu":{}}},"own_cgroup":{},"cgroups":{},)",
                 memory, swap, facts.stalls(reading.memory_stalls), facts.stalls(reading.io_stalls),
                 facts.stalls(reading.cpu_stalls), facts.own(reading.own), facts.cgroups(cgroups));
  return out + fmt::format("\"not_known\":{}}}", facts.not_known());
}

void append_pressure(std::string& out, const PressureLook& look) {
  using observe::append_help;
  using observe::append_sample;
  const auto one = [&](std::string_view name, std::string_view type, std::string_view help, double value) {
    append_help(out, name, type, help);
    append_sample(out, name, {}, value);
  };
  const auto share = [](const Result<double>& percent) { return percent ? std::round(*percent * 1e4) / 1e6 : -1; };
  one("evenkeel_pressure_shedding", "gauge", "1 while this box takes nothing new on for lack of memory.",
      look.shedding ? 1 : 0);
  one("evenkeel_pressure_shed_begun_total", "counter", "Times that began.", static_cast<double>(look.turns));
  one("evenkeel_pressure_swap_used_share", "gauge", "Share of this box's swap that is used; -1 = not known.",
      share(look.figures.swap_used_percent));
  one("evenkeel_pressure_iowait_share", "gauge", "Share of iowait in the processors' time; -1 = not known.",
      share(look.figures.iowait_percent));
  one("evenkeel_pressure_swap_ins_per_second", "gauge", "Pages that came back from swap; -1 = not known.",
      look.figures.swap_ins_per_s.value_or(-1));
  constexpr std::string_view stalls = "evenkeel_pressure_stall_share";
  append_help(out, stalls, "gauge", "Share of the last 10 s in which some or all tasks waited; -1 = not known.");
  for (const auto& [resource, fact] :
       {std::pair<std::string_view, const Result<Stalls>*>{"memory", &look.reading.memory_stalls},
        {"io", &look.reading.io_stalls},
        {"cpu", &look.reading.cpu_stalls}}) {
    append_sample(out, stalls, fmt::format("resource=\"{}\",tasks=\"some\"", resource),
                  share(fact->map([](const Stalls& both) { return both.some.avg10; })));
    append_sample(out, stalls, fmt::format("resource=\"{}\",tasks=\"all\"", resource),
                  share(fact->map([](const Stalls& both) { return both.full ? both.full->avg10 : -100; })));
  }
}

}  // namespace evenkeel::gateway
