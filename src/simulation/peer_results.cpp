#include "simulation/peer_results.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/numbers.hpp"
#include "report/table.hpp"

namespace evenkeel::simulation {

namespace {

namespace json = boost::json;
using report::fixed;

template <class Values>
json::array array_of(const Values& values) {
  json::array out;
  for (const auto& value : values) out.emplace_back(value);
  return out;
}

json::object run_object(const PeersResult& result, const PeerBurst& burst) {
  return {{"policy", result.policy},
          {"round", burst.round},
          {"requests", burst.requests},
          {"tokens", burst.tokens},
          {"wall_s", burst.wall_s},
          {"throughput", burst.tokens_per_s},
          {"split", array_of(burst.split)},
          {"ceiling", burst.ceiling},
          {"optimum", burst.best.tokens_per_s},
          {"optimum_split", array_of(burst.best.requests)},
          {"efficiency", burst.efficiency()},
          {"forwarded", burst.forwarded},
          {"suppressed", burst.suppressed},
          {"refused", burst.refused}};
}

double least_tokens_per_s(const PeersResult& result) {
  return std::min_element(result.bursts.begin(), result.bursts.end(),
                          [](const PeerBurst& a, const PeerBurst& b) { return a.tokens_per_s < b.tokens_per_s; })
      ->tokens_per_s;
}

json::object policy_object(const PeersResult& result) {
  const double mean = result.mean_tokens_per_s();
  const double best = result.bursts.front().best.tokens_per_s;
  return {{"policy", result.policy},
          {"rounds", result.bursts.size()},
          {"throughput", mean},
          {"throughput_min", least_tokens_per_s(result)},
          {"optimum", best},
          {"efficiency", best > 0 ? mean / best : 0},
          {"suppressed", result.suppressed()}};
}

json::array boxes_array(const PeersSetting& setting) {
  json::array out;
  for (const Box& box : setting.boxes) {
    out.push_back(json::object{{"slots", box.slots()},
                               {"rate_1", box.slots() == 0 ? 0 : box.tokens_per_s.front()},
                               {"rate_full", box.slots() == 0 ? 0 : box.tokens_per_s.back()}});
  }
  return out;
}

}  // namespace

std::string peers_json(const PeersSetting& setting, std::span<const PeersResult> results) {
  json::array runs;
  json::array policies;
  for (const PeersResult& result : results) {
    for (const PeerBurst& burst : result.bursts) runs.push_back(run_object(result, burst));
    policies.push_back(policy_object(result));
  }
  const json::object out{{"experiment", "peers"},
                         {"boxes", boxes_array(setting)},
                         {"burst", setting.burst},
                         {"tokens", setting.tokens},
                         {"rates", setting.known_rates ? "known" : "learned"},
                         {"exchange", setting.exchange == Exchange::books ? "books" : "gauges"},
                         {"seed", setting.seed},
                         {"policies", std::move(policies)},
                         {"runs", std::move(runs)}};
  return json::serialize(out) + "\n";
}

std::string peers_table(const PeersSetting& setting, std::span<const PeersResult> results, std::size_t shown) {
  report::Table boxes({{"box", report::Align::left}, {"slots"}, {"tok/s, 1"}, {"tok/s, full"}});
  for (std::size_t i = 0; i < setting.boxes.size(); ++i) {
    const Box& box = setting.boxes[i];
    const bool hosts = box.slots() > 0;
    boxes.add_row({std::to_string(i + 1), std::to_string(box.slots()), hosts ? fixed(box.tokens_per_s.front(), 2) : "-",
                   hosts ? fixed(box.tokens_per_s.back(), 2) : "-"});
  }
  report::Table bursts({{"policy", report::Align::left},
                        {"burst"},
                        {"split"},
                        {"tok/s"},
                        {"ceiling of split"},
                        {"best split"},
                        {"its tok/s"},
                        {"efficiency"},
                        {"suppressed"}});
  for (const PeersResult& result : results) {
    const bool each = result.bursts.size() <= shown;
    for (const PeerBurst& burst : result.bursts) {
      if (!each) break;
      bursts.add_row({result.policy, std::to_string(burst.round), fmt::format("{}", fmt::join(burst.split, "/")),
                      fixed(burst.tokens_per_s, 2), fixed(burst.ceiling, 2),
                      fmt::format("{}", fmt::join(burst.best.requests, "/")), fixed(burst.best.tokens_per_s, 2),
                      fixed(burst.efficiency(), 3), burst.suppressed ? "yes" : "no"});
    }
    if (each) continue;
    const PeerBurst& first = result.bursts.front();
    const double mean = result.mean_tokens_per_s();
    bursts.add_row({result.policy, fmt::format("all {}", result.bursts.size()), "", fixed(mean, 2), "",
                    fmt::format("{}", fmt::join(first.best.requests, "/")), fixed(first.best.tokens_per_s, 2),
                    fixed(mean / first.best.tokens_per_s, 3), fmt::format("{}", result.suppressed())});
  }
  return boxes.text() + "\n" + bursts.text();
}

}  // namespace evenkeel::simulation
