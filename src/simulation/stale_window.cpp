#include "simulation/stale_window.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "simulation/snapshot_policy.hpp"

namespace evenkeel::simulation {

namespace {

void look(std::vector<MemoryNode>& nodes, double t, std::vector<std::vector<double>>& seen) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].advance(t);
    for (auto& router : seen) router[i] = nodes[i].headroom_gb();
  }
}

}  // namespace

StaleWindowTally run_stale_window(const planning::FleetPlan& plan, const StaleWindow& window,
                                  std::vector<MemoryNode> nodes, Random arrivals, Random choices) {
  const planning::Model& model = plan.models.front();
  const double rate =
      plan.groups.front().rate_per_node_s.front() * static_cast<double>(nodes.size()) * window.rate_factor;
  SnapshotPolicy policy(
      window.sampled >= nodes.size() ? "headroom_argmax" : fmt::format("headroom[d={}]", window.sampled),
      plan.groups.front().capacity.front(), nodes.size());
  std::vector<std::vector<double>> seen(window.routers, std::vector<double>(nodes.size()));
  std::vector<int> placed(nodes.size(), 0);
  StaleWindowTally tally;
  std::int64_t looks = 0;
  for (double t = arrivals.exponential(1 / rate); t < plan.scale_time_s; t += arrivals.exponential(1 / rate)) {
    const HeavyTask task = draw_task(model, 0, 0, t, 1, arrivals);
    for (; static_cast<double>(looks) * window.refresh_s <= t; ++looks) {
      look(nodes, static_cast<double>(looks) * window.refresh_s, seen);
    }
    ++tally.arrivals;
    std::vector<double>& view = seen[choices.below(window.routers)];
    const std::size_t chosen = policy.choose(view, choices);
    nodes[chosen].advance(t);
    if (nodes[chosen].headroom_gb() <= window.refuse_at_gb) {
      ++tally.refused;
      continue;
    }
    nodes[chosen].admit(task);
    ++placed[chosen];
    if (window.debits) view[chosen] -= window.debit_gb;
  }
  for (MemoryNode& node : nodes) node.advance(plan.scale_time_s);
  const auto least = [&](auto value) {
    double lowest = value(nodes.front());
    for (const MemoryNode& node : nodes) lowest = std::min(lowest, value(node));
    return lowest;
  };
  tally.most_on_one = *std::max_element(placed.begin(), placed.end());
  tally.lowest_at_close_gb = least([](const MemoryNode& node) { return node.headroom_gb(); });
  tally.lowest_gb = least([](const MemoryNode& node) { return node.lowest_headroom_gb(); });
  return tally;
}

}  // namespace evenkeel::simulation
