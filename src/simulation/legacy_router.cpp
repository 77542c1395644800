#include "simulation/legacy_router.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/random.hpp"

namespace evenkeel::simulation {

namespace {
constexpr Duration probe_pause = std::chrono::seconds(5);
constexpr Duration ended_kept = std::chrono::seconds(60);
}  // namespace

LegacyRouter::LegacyRouter(PeerWorld& world, std::size_t box, LegacyRules rules, Duration phase)
    : world_(world), box_(box), rules_(rules), seen_(world.boxes().size()) {
  world_.after(phase, [this] { look_here(); });
  world_.after(probe_pause, [this] { probe(0, seen_); });
}

void LegacyRouter::look_here() {
  if (world_.boxes()[box_].slots() > 0) seen_[box_] = {world_.gauge(box_), world_.now()};
  world_.after(probe_pause, [this] { look_here(); });
}

/// One peer after the other; what they said counts once all have.
void LegacyRouter::probe(std::size_t peer, std::vector<Seen> pass) {
  while (peer < seen_.size() && (peer == box_ || world_.boxes()[peer].slots() == 0)) ++peer;
  if (peer == seen_.size()) {
    pass[box_] = seen_[box_];
    seen_ = std::move(pass);
    return world_.after(probe_pause, [this] { probe(0, seen_); });
  }
  const Duration half = world_.network().probe_round_trip / 2;
  world_.after(half, [this, peer, half, pass = std::move(pass)]() mutable {
    pass[peer].requests = world_.gauge(peer);
    world_.after(half, [this, peer, pass = std::move(pass)]() mutable {
      pass[peer].at = world_.now();
      probe(peer + 1, std::move(pass));
    });
  });
}

double LegacyRouter::active(std::size_t box) const {
  const Seen& seen = seen_[box];
  double since = 0, before = 0, ended = 0;
  for (const auto& [id, dispatch] : open_) {
    if (dispatch.box == box && dispatch.counted) ++(dispatch.begun >= seen.at ? since : before);
  }
  if (rules_ == LegacyRules::v0_67_0) return seen.requests + since;
  for (const Ended& one : ended_) {
    if (one.box == box && one.begun < seen.at && one.ended >= seen.at) ++ended;
  }
  return std::max(seen.requests - std::min(seen.requests, ended), before) + since;
}

/// The least active per slot of those that are not full; equals: this box, then the first. None: this box.
std::size_t LegacyRouter::choose(bool& placed) const {
  std::size_t best = box_;
  double best_use = 1;
  placed = false;
  const auto offer = [&](std::size_t box) {
    const auto slots = static_cast<double>(world_.boxes()[box].slots());
    if (slots == 0) return;
    const double use = active(box) / slots;
    if (use >= best_use) return;
    best = box;
    best_use = use;
    placed = true;
  };
  offer(box_);
  for (std::size_t box = 0; box < seen_.size(); ++box) {
    if (box != box_) offer(box);
  }
  if (placed || world_.boxes()[box_].slots() > 0) return best;
  while (world_.boxes()[best].slots() == 0) best = (best + 1) % seen_.size();
  return best;
}

void LegacyRouter::submit(std::size_t id) {
  bool placed = false;
  const std::size_t to = choose(placed);
  open_[id] = {to, world_.now(), placed || rules_ == LegacyRules::v0_67_1};
  PeerRequest& request = world_.request(id);
  request.reason = placed ? peers::RouteReason::peer_less_loaded : peers::RouteReason::none;
  if (to == box_) return world_.to_engine(box_, id);
  ++request.hops;
  world_.after(world_.network().forward_delay, [this, id, to] { world_.router(to).arrive(id, box_); });
}

void LegacyRouter::arrive(std::size_t id, std::size_t) {
  if (rules_ == LegacyRules::v0_67_1) open_[id] = {box_, world_.now(), true};
  world_.to_engine(box_, id);
}

void LegacyRouter::end(std::size_t id) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  if (at->second.counted) ended_.push_back({at->second.box, at->second.begun, world_.now()});
  open_.erase(at);
  while (!ended_.empty() && ended_.front().ended < world_.now() - ended_kept) ended_.pop_front();
}

void LegacyRouter::finished(std::size_t id) {
  const std::size_t from = world_.request(id).entered;
  end(id);
  if (from == box_) return world_.done(id);
  world_.after(world_.network().forward_delay, [this, id, from] {
    auto& origin = static_cast<LegacyRouter&>(world_.router(from));
    origin.end(id);
    world_.done(id);
  });
}

/// A client that leaves is not noticed: the engine goes on.
void LegacyRouter::cancel(std::size_t) {}

void set_legacy_routers(PeerWorld& world, LegacyRules rules, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::unique_ptr<BoxRouter>> routers;
  for (std::size_t box = 0; box < world.boxes().size(); ++box) {
    const Duration phase = from_seconds(to_seconds(probe_pause) * random.unit());
    routers.push_back(std::make_unique<LegacyRouter>(world, box, rules, phase));
  }
  world.set_routers(std::move(routers));
}

}  // namespace evenkeel::simulation
