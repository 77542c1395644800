#include "simulation/placement_designs.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "redline/sample.hpp"

namespace evenkeel::simulation {

namespace {

using What = PlacementAnswer::What;

/// Headroom that a report leads one to expect at t.
double left_at(const NodeReport& report, double t) {
  return report.headroom_gb - report.growth_gb_per_s * (t - report.stamp_s);
}

std::vector<std::size_t> serving(const FleetWorld& world, std::uint32_t model) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < world.size(); ++i) {
    if (world.serves(i, model)) nodes.push_back(i);
  }
  return nodes;
}

/// The node with the most left over its floor that has room for the task, by what is known; nothing if none has.
template <class Report>
std::optional<std::size_t> roomiest(const FleetWorld& world, const HeavyTask& task, double t, Report report) {
  std::optional<std::size_t> best;
  double most = 0;
  for (std::size_t i = 0; i < world.size(); ++i) {
    if (!world.serves(i, task.model)) continue;
    const double left = left_at(report(i), t) - task.footprint.fixed - report(i).floor_gb;
    if (left < 0 || (best && left <= most)) continue;
    best = i;
    most = left;
  }
  return best;
}

}  // namespace

PlacementAnswer LateProbe::ask(const Waiting& waiting, double t) {
  for (const std::size_t node : waiting.probed) {
    if (!world_.would_admit(waiting.task, node, t)) continue;
    ++accounts_.attempts;
    // It asks, is given the task, and the others are told to forget.
    accounts_.messages += 2 + waiting.probed.size() - 1;
    if (!world_.offer(waiting.task, node, t).admitted) continue;
    return {What::placed, waiting.task.id, node, t - waiting.submitted_s + 3 * one_way_s};
  }
  return {What::waits, waiting.task.id, 0, 0};
}

PlacementAnswer LateProbe::submit(const HeavyTask& task, double t) {
  ++accounts_.submitted;
  std::vector<std::size_t> probed = serving(world_, task.model);
  probed.resize(redline::draw_to_front(probed, probes_, random_));
  accounts_.messages += probed.size();
  const PlacementAnswer answer = ask({task, t, probed}, t);
  if (answer.what == What::waits) waiting_.push_back({task, t, std::move(probed)});
  return answer;
}

void LateProbe::turn(double t, std::vector<PlacementAnswer>& late) {
  std::erase_if(waiting_, [&](const Waiting& each) {
    PlacementAnswer answer = ask(each, t);
    if (answer.what == What::waits) {
      if (t - each.submitted_s < patience_s_) return false;
      accounts_.messages += each.probed.size();
      answer = {What::refused, each.task.id, 0, t - each.submitted_s};
    }
    late.push_back(answer);
    return true;
  });
}

LazyPull::LazyPull(FleetWorld& world, std::size_t shards, double poll_s, double patience_s, Random random)
    : world_(world), poll_s_(poll_s), patience_s_(patience_s), random_(random), shards_(shards) {
  for (std::size_t i = 0; i < world_.size(); ++i) next_poll_s_.push_back(poll_s_ * random_.unit());
}

PlacementAnswer LazyPull::submit(const HeavyTask& task, double t) {
  ++accounts_.submitted;
  ++accounts_.messages;
  shards_[random_.below(shards_.size())].push_back({task, t});
  return {What::waits, task.id, 0, 0};
}

void LazyPull::poll(std::size_t node, double t, std::vector<PlacementAnswer>& late) {
  std::deque<Waiting>& backlog = shards_[node % shards_.size()];
  accounts_.background += 2;
  for (auto each = backlog.begin(); each != backlog.end(); ++each) {
    if (!world_.would_admit(each->task, node, t)) continue;
    ++accounts_.attempts;
    accounts_.messages += 2;
    if (!world_.offer(each->task, node, t).admitted) continue;
    late.push_back({What::placed, each->task.id, node, t - each->submitted_s + round_trip_s});
    backlog.erase(each);
    return;
  }
}

void LazyPull::turn(double t, std::vector<PlacementAnswer>& late) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < world_.size(); ++i) {
    if (next_poll_s_[i] <= t) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return next_poll_s_[a] < next_poll_s_[b]; });
  for (const std::size_t node : order) {
    poll(node, t, late);
    // A little earlier or later each time, so that no node is always the first.
    while (next_poll_s_[node] <= t) next_poll_s_[node] += poll_s_ * (0.5 + random_.unit());
  }
  for (auto& backlog : shards_) {
    std::erase_if(backlog, [&](const Waiting& each) {
      if (t - each.submitted_s < patience_s_) return false;
      late.push_back({What::refused, each.task.id, 0, t - each.submitted_s});
      return true;
    });
  }
}

SharedState::SharedState(FleetWorld& world, std::size_t schedulers, double sync_s, Random random)
    : world_(world), sync_s_(sync_s), random_(random), copies_(schedulers, std::vector<Copy>(world.size())) {
  for (std::size_t s = 0; s < schedulers; ++s) {
    next_sync_s_.push_back(sync_s_ * static_cast<double>(s + 1) / static_cast<double>(schedulers));
    for (std::size_t i = 0; i < world_.size(); ++i) copy(s, i, 0);
  }
}

void SharedState::copy(std::size_t scheduler, std::size_t node, double t) {
  copies_[scheduler][node] = {world_.report(node, t), world_.node(node).changes()};
}

PlacementAnswer SharedState::submit(const HeavyTask& task, double t) {
  ++accounts_.submitted;
  const std::size_t scheduler = random_.below(copies_.size());
  constexpr int most_commits = 32;
  for (int commit = 1; commit <= most_commits; ++commit) {
    const auto node = roomiest(world_, task, t, [&](std::size_t i) { return copies_[scheduler][i].report; });
    if (!node) return {What::refused, task.id, 0, (commit - 1) * round_trip_s};
    ++accounts_.attempts;
    accounts_.messages += 2;
    static_cast<void>(world_.would_admit(task, *node, t));  // its time passes: who has ended has left
    const bool conflict = world_.node(*node).changes() != copies_[scheduler][*node].changes;
    if (conflict) ++accounts_.conflicts;
    const bool admitted = !conflict && world_.offer(task, *node, t).admitted;
    copy(scheduler, *node, t);
    if (admitted) return {What::placed, task.id, *node, commit * round_trip_s};
    ++accounts_.retries;
  }
  return {What::refused, task.id, 0, most_commits * round_trip_s};
}

void SharedState::turn(double t, std::vector<PlacementAnswer>&) {
  for (std::size_t s = 0; s < copies_.size(); ++s) {
    if (t < next_sync_s_[s]) continue;
    while (next_sync_s_[s] <= t) next_sync_s_[s] += sync_s_;
    accounts_.background += world_.size();
    for (std::size_t i = 0; i < world_.size(); ++i) copy(s, i, t);
  }
}

SerialDecider::SerialDecider(FleetWorld& world, double decision_s, double report_s)
    : world_(world), decision_s_(decision_s), report_s_(report_s) {
  for (std::size_t i = 0; i < world_.size(); ++i) known_.push_back(world_.report(i, 0));
}

PlacementAnswer SerialDecider::submit(const HeavyTask& task, double t) {
  ++accounts_.submitted;
  free_at_s_ = std::max(free_at_s_, t) + decision_s_;
  const double decided_s = free_at_s_ - t + round_trip_s;
  const auto node = roomiest(world_, task, t, [&](std::size_t i) { return known_[i]; });
  if (!node) return {What::refused, task.id, 0, decided_s};
  ++accounts_.attempts;
  accounts_.messages += 2;
  const FleetWorld::Answer answer = world_.offer(task, *node, t);
  known_[*node] = answer.report;
  return {answer.admitted ? What::placed : What::refused, task.id, *node, decided_s + round_trip_s};
}

void SerialDecider::turn(double t, std::vector<PlacementAnswer>&) {
  if (t < next_report_s_) return;
  while (next_report_s_ <= t) next_report_s_ += report_s_;
  accounts_.background += world_.size();
  for (std::size_t i = 0; i < world_.size(); ++i) known_[i] = world_.report(i, t);
}

}  // namespace evenkeel::simulation
