#include "simulation/fleet_world.hpp"

#include <algorithm>
#include <cmath>

#include "maths/normal.hpp"
#include "redline/arrival_reserve.hpp"

namespace evenkeel::simulation {

namespace {

/// Projections are made anew after so long even where nobody came or went: who is older is likelier to stay. What they
/// say of the levels ahead stays true meanwhile.
constexpr double projection_holds_s = 5;
/// Grid of the projection: half a second to more than an hour.
constexpr double projection_unit_s = 0.5;

}  // namespace

FleetWorld::FleetWorld(const planning::FleetPlan& plan, NodeRules rules, StartRange start, double immortal_probability,
                       Random& random)
    : plan_(plan), rules_(rules), growth_z_(maths::normal_quantile(rules.growth_level)), random_(random.split()) {
  for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
    for (MemoryNode& node : stationary_nodes(plan_, plan_.groups[g], start, immortal_probability, random)) {
      nodes_.push_back(std::move(node));
      group_of_.push_back(g);
    }
  }
  pooled_gb_ = reserve_gb(1, rules_.react_s, 0.999);
  siloed_gb_ = reserve_gb(1, plan_.scale_time_s, plan_.level);
  leases_.assign(nodes_.size(), redline::CapacityLease(from_seconds(rules_.lease_s), rules_.when_cut_off));
  for (auto& lease : leases_) lease.renew(time_at(0));
  modes_.assign(nodes_.size(), redline::LeaseMode::pooled);
  waves_.resize(nodes_.size());
  projections_.resize(nodes_.size());
}

bool FleetWorld::serves(std::size_t node, std::uint32_t model) const {
  return plan_.groups[group_of_[node]].rate_per_node_s[model] > 0;
}

double FleetWorld::reserve_gb(double nodes, double window_s, double level) const {
  const planning::Footprint& foot = plan_.models[0].footprints[0];
  return redline::arrival_reserve(
      {nodes * plan_.groups[0].rate_per_node_s[0] * window_s, foot.at(0), foot.at(window_s)}, level);
}

redline::Projection::Part FleetWorld::part_of(const HeavyTask& task, double t) const {
  const planning::DurationLaw& law = plan_.models[task.model].duration;
  const double age = task.served_s + t - task.start_s;
  const double here = law.survival(age);
  // Of 32 instants rather than of stretches between them: nodes are judged here by what their law says, not by a
  // bound.
  redline::Projection::Part part;
  part.held = task.held_gb(t);
  double ahead = 0;
  for (std::size_t i = 0; i < 32; ++i, ahead = i == 1 ? projection_unit_s : 1.35 * ahead) {
    const double alive = here > 0 ? law.survival(age + ahead) / here : 0.0;
    const double memory = part.held + task.footprint.growth_per_s * ahead;
    part.mean[i] = alive * memory;
    part.variance[i] = alive * (1 - alive) * memory * memory;
  }
  return part;
}

const redline::Projection& FleetWorld::projection(std::size_t node) {
  CachedProjection& cached = projections_[node];
  const MemoryNode& at = nodes_[node];
  if (at.now_s() >= cached.until_s || cached.changes != at.changes()) {
    cached.ahead.clear();
    for (const HeavyTask& each : at.residents()) cached.ahead.add(part_of(each, at.now_s()));
    cached.until_s = at.now_s() + projection_holds_s;
    cached.changes = at.changes();
  }
  return cached.ahead;
}

double FleetWorld::arrival_floor_gb(std::size_t node, double t) const {
  return mode(node, t) == redline::LeaseMode::pooled ? pooled_gb_ : siloed_gb_;
}

double FleetWorld::floor_gb(std::size_t node, double t) {
  switch (rules_.floors) {
    case Floors::none: return 0;
    case Floors::published: return rules_.published_gb;
    case Floors::two_part: break;
  }
  return projection(node).drawdown(growth_z_) + arrival_floor_gb(node, t);
}

bool FleetWorld::fits(const HeavyTask& task, std::size_t node, double t) {
  if (mode(node, t) == redline::LeaseMode::blocked) return false;
  const MemoryNode& at = nodes_[node];
  const double left = at.headroom_gb() - task.footprint.fixed;
  switch (rules_.floors) {
    case Floors::none: return left >= 0;
    case Floors::published: return left >= rules_.published_gb;
    case Floors::two_part: break;
  }
  if (left < arrival_floor_gb(node, t)) return false;
  const double peak = projection(node).peak_with(part_of(task, t), growth_z_);
  return peak + arrival_floor_gb(node, t) <= at.capacity_gb();
}

NodeReport FleetWorld::report(std::size_t node, double t) {
  nodes_[node].advance(t);
  const MemoryNode& at = nodes_[node];
  double largest = 0;
  for (const HeavyTask& each : at.residents()) largest = std::max(largest, each.held_gb(t));
  return {at.headroom_gb(),
          floor_gb(node, t),
          at.growth_gb_per_s(),
          at.immortal_share(),
          largest,
          t,
          mode(node, t) == redline::LeaseMode::blocked};
}

bool FleetWorld::would_admit(const HeavyTask& task, std::size_t node, double t) {
  nodes_[node].advance(t);
  return serves(node, task.model) && fits(task, node, t);
}

FleetWorld::Answer FleetWorld::offer(const HeavyTask& task, std::size_t node, double t) {
  nodes_[node].advance(t);
  const auto known = where_.find(task.id);
  if (known != where_.end() && known->second == node) return {true, report(node, t)};
  if (!serves(node, task.model) || !fits(task, node, t)) {
    ++books_.refused;
    return {false, report(node, t)};
  }
  if (known != where_.end()) ++books_.on_two_nodes;
  HeavyTask here = task;
  here.end_s += t - task.start_s;  // it stays as long, from when it begins
  here.start_s = t;
  nodes_[node].admit(here);
  where_[task.id] = node;
  ++books_.admitted;
  return {true, report(node, t)};
}

void FleetWorld::renew(std::size_t node, double t) {
  leases_[node].renew(time_at(t), from_seconds(rules_.settle_s * random_.unit()));
}

void FleetWorld::look_at_lease(std::size_t node, double t) {
  const redline::LeaseMode now = mode(node, t);
  const bool pooled = now == redline::LeaseMode::pooled;
  if (pooled != (modes_[node] == redline::LeaseMode::pooled)) {
    (pooled ? books_.pooled_at_s : books_.siloed_at_s).push_back(t);
  }
  modes_[node] = now;
  if (!pooled) books_.siloed_node_s += t - now_s_;
}

void FleetWorld::finish_moves(std::size_t node, double t, std::vector<HeavyTask>& moved) {
  std::erase_if(waves_[node], [&](const Move& move) {
    if (move.done_s > t) return false;
    if (nodes_[node].evict(move.task.id)) {  // else it has ended by itself meanwhile
      where_.erase(move.task.id);
      ++books_.moved;
      if (move.task.immortal) ++books_.immortals_moved;
      HeavyTask rest = move.task;
      rest.footprint.fixed = move.task.held_gb(t);
      rest.served_s += t - move.task.start_s;
      rest.start_s = t;
      moved.push_back(rest);
    }
    return true;
  });
}

void FleetWorld::start_moves(std::size_t node, double t) {
  const MemoryNode& at = nodes_[node];
  double pending = 0;
  for (const Move& move : waves_[node]) pending += move.task.held_gb(t);
  // What is freed in the end, less what the others grow until then; one is not begun where those under way suffice.
  while (at.headroom_gb() + pending - at.growth_gb_per_s() * rules_.relocation_overhead_s <= rules_.emergency_gb) {
    const HeavyTask* largest = nullptr;
    for (const HeavyTask& each : at.residents()) {
      const bool under_way = std::any_of(waves_[node].begin(), waves_[node].end(),
                                         [&](const Move& move) { return move.task.id == each.id; });
      if (each.immortal || under_way) continue;
      if (largest == nullptr || each.held_gb(t) > largest->held_gb(t)) largest = &each;
    }
    if (largest == nullptr) return;
    const double state = largest->held_gb(t);
    waves_[node].push_back({*largest, t + rules_.relocation_overhead_s + state / rules_.relocation_gb_per_s});
    pending += state;
  }
}

void FleetWorld::turn(double t, std::vector<HeavyTask>& moved) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].advance(t);
    look_at_lease(i, t);
    finish_moves(i, t, moved);
    if (rules_.emergency) start_moves(i, t);
  }
  now_s_ = t;
}

std::size_t FleetWorld::nodes_over() const {
  return static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const MemoryNode& each) { return each.ever_over(); }));
}

double FleetWorld::lowest_headroom_gb() const {
  double lowest = nodes_.front().lowest_headroom_gb();
  for (const MemoryNode& each : nodes_) lowest = std::min(lowest, each.lowest_headroom_gb());
  return lowest;
}

}  // namespace evenkeel::simulation
