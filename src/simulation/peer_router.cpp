#include "simulation/peer_router.hpp"

#include <algorithm>
#include <utility>

namespace evenkeel::simulation {

namespace {

dispatch::DispatcherOptions dispatcher_options(const PeerRouterOptions& of) {
  dispatch::DispatcherOptions options;
  options.pool_requests = of.pool_requests;
  options.pool_timeout = of.pool_timeout;
  options.mean_output = of.mean_output;
  return options;
}

peers::RouteReason reason_named(std::string_view name) {
  for (const peers::RouteReason reason : peers::all_route_reasons) {
    if (peers::to_string(reason) == name) return reason;
  }
  return peers::RouteReason::none;
}

/// The rates of a box at the levels that a curve keeps apart, flat above its slots.
std::vector<fleet::RatePoint> points_of(const Box& box) {
  std::vector<fleet::RatePoint> points;
  const auto slots = static_cast<double>(box.slots());
  const auto add = [&](double level) {
    const auto running = std::min(box.slots(), static_cast<std::size_t>(level));
    points.push_back({level, box.tokens_per_s[running - 1]});
  };
  for (double octave = 1; octave * 1.2 < slots; octave *= 2) {
    add(octave);
    if (octave >= 2 && octave * 1.5 * 1.2 < slots) add(octave * 1.5);
  }
  if (slots > 3.6) add(3);
  add(slots);
  add(2 * slots);
  return points;
}

}  // namespace

struct PeerRouter::Slip final : dispatch::Waiter {
  Slip(PeerRouter& of, std::size_t what) : router(of), request(what) {}
  void granted(dispatch::Granted granted) override { router.granted(request, std::move(granted)); }
  void refused(dispatch::Refused refused) override { router.refused(request, refused); }
  PeerRouter& router;
  std::size_t request;
};

PeerRouter::PeerRouter(PeerWorld& world, std::size_t box, std::unique_ptr<routing::Policy> policy, std::uint64_t seed,
                       const PeerRouterOptions& options)
    : world_(world),
      box_(box),
      options_(options),
      dispatcher_(dispatcher_options(options), std::move(policy), world.clock(), seed),
      origins_(world.boxes().size(), 1) {
  // A worker for each box, so that a worker's id is its box.
  for (std::size_t other = 0; other < world.boxes().size(); ++other) {
    const bool here = other == box;
    const Box& of = world.boxes()[other];
    dispatch::WorkerSpec spec;
    spec.name = std::to_string(other);
    spec.models = {options.model};
    spec.peer = !here;
    spec.max_in_flight = static_cast<std::int64_t>(here ? of.slots() : 0);
    Far& far = far_.emplace_back();
    far.worker = dispatcher_.add_worker(std::move(spec));
    if (options.known_rates && of.slots() > 0) dispatcher_.set_rate(far.worker, points_of(of));
    if (!here)
      far.peer =
          std::make_unique<peers::Peer>(peers::Fingerprint{"m", 4096, "vllm", "none", {}, {}, {}, {}}, options.peers);
  }
  if (!hosts()) return;
  dispatcher_.set_state(far_[box].worker, dispatch::WorkerState::routable);
  says_.capacity = std::to_string(world.boxes()[box].slots());
}

PeerRouter::~PeerRouter() {
  leaving_ = true;
  dispatcher_.close();  // else what waits would be given the leases that end now
  open_.clear();
}

void PeerRouter::set_shedding(bool sheds) { dispatcher_.set_shedding(sheds); }

void PeerRouter::meet() {
  for (std::size_t box = 0; box < far_.size(); ++box) {
    if (box == box_) continue;
    far_[box].peer->probe_sent(world_.now());
    far_[box].peer->probe_answered(world_.now(), at(box).status(box_));
    refresh(box);
  }
}

bool PeerRouter::empty() const {
  const auto workers = dispatcher_.workers();
  const bool leases =
      std::any_of(workers.begin(), workers.end(), [](const auto& worker) { return worker.load.in_flight != 0; });
  const bool dispatches =
      std::any_of(far_.begin(), far_.end(), [](const Far& far) { return far.peer && far.peer->open() != 0; });
  std::int64_t taken_on = 0;
  for (std::size_t box = 0; box < far_.size(); ++box) taken_on += origins_.active(box);
  return open_.empty() && !leases && !dispatches && taken_on == 0 && serving_ == 0 && arrivals_waiting_ == 0 &&
         dispatcher_.pool().waiting == 0 && dispatcher_.sound();
}

// --- requests ----------------------------------------------------------------------------------------------

void PeerRouter::ask(std::size_t id, std::size_t from) {
  Open& open = open_[id];
  open.from = from;
  open.arrived = world_.now();
  open.queued.reset();
  dispatch::Submission what;
  what.model = options_.model;
  what.client = ClientKey{world_.request(id).client};
  what.never_shed = world_.request(id).never_shed;
  what.excluded = open.excluded;
  what.returned = open.returned;
  what.from_peer = from != box_;
  // What was sent ahead may wait, one for each slot.
  what.at_once = from != box_ && !(world_.request(id).ahead &&
                                   arrivals_waiting_ < static_cast<std::int64_t>(world_.boxes()[box_].slots()));
  if (const auto only = world_.request(id).only; only && from == box_) {
    for (const Far& far : far_) {
      if (far.worker.value != *only) what.excluded.add(far.worker);
    }
  }
  auto decision = dispatcher_.submit(what, [&] { return std::make_shared<Slip>(*this, id); });
  if (auto* now = std::get_if<dispatch::Granted>(&decision)) granted(id, std::move(*now));
  if (const auto* waits = std::get_if<dispatch::Queued>(&decision); waits != nullptr && !open.lease.open()) {
    open.queued = waits->id;
  }
  if (const auto* no = std::get_if<dispatch::Refused>(&decision)) refused(id, *no);
}

void PeerRouter::submit(std::size_t id) {
  open_[id].came = world_.now();
  ask(id, box_);
  probe_who_is_due();
}

void PeerRouter::granted(std::size_t id, dispatch::Granted granted) {
  Open& open = open_.at(id);
  const std::size_t to = granted.lease.worker().value;
  const bool waited = open.queued.has_value();
  open.queued.reset();
  open.lease = std::move(granted.lease);
  if (open.from == box_) world_.request(id).reason = reason_named(granted.receipt.route);
  if (to != box_) return forward(id, open, to);
  if (open.from != box_) {
    origins_.began(open.from);
    if (waited) {
      --arrivals_waiting_;
      origins_.ended(open.from);  // it was counted when it began to wait
    }
  }
  ++serving_;
  world_.to_engine(box_, id);
}

void PeerRouter::refused(std::size_t id, dispatch::Refused refused) {
  if (leaving_) return;
  refusal_ = refused;
  if (open_.at(id).from != box_) return send_back(id, refused.why);
  open_.erase(id);
  world_.refuse(id);
}

void PeerRouter::forward(std::size_t id, Open& open, std::size_t to) {
  open.dispatched = world_.now();
  peers::Peer& peer = *far_[to].peer;
  const peers::PeerShare& share = far_[to].share;
  world_.request(id).ahead = static_cast<double>(peer.open()) + share.foreign >= static_cast<double>(share.slots);
  peer.dispatched(world_.now());
  ++world_.request(id).hops;
  world_.after(world_.network().forward_delay, [this, id, to] { at(to).arrive(id, box_); });
}

void PeerRouter::arrive(std::size_t id, std::size_t from) {
  if (world_.request(id).cancelled) return;
  ask(id, from);
  const auto open = open_.find(id);
  if (open == open_.end() || open->second.lease.open()) return;  // it went back, or is served
  ++arrivals_waiting_;
  origins_.began(from);
}

void PeerRouter::send_back(std::size_t id, fleet::Refusal why) {
  const auto open = open_.find(id);
  const std::size_t from = open->second.from;
  if (open->second.queued) {
    --arrivals_waiting_;
    origins_.ended(from);
  }
  open_.erase(open);
  world_.after(world_.network().forward_delay,
               [this, id, from, why, news = news_for(from)] { at(from).sent_back(id, box_, why, news); });
}

void PeerRouter::sent_back(std::size_t id, std::size_t from, fleet::Refusal why,
                           const std::optional<peers::News>& news) {
  peers::Peer& peer = *far_[from].peer;
  if (news) peer.heard(world_.now(), *news);
  if (why == fleet::Refusal::pressure) {
    peer.declined(world_.now());
  } else {
    peer.sent_back(world_.now());
  }
  refresh(from);
  const auto at_hand = open_.find(id);
  if (at_hand == open_.end()) return;  // cancelled meanwhile
  Open& open = at_hand->second;
  peer.ended(open.dispatched, world_.now());
  world_.request(id).hops = 0;  // it is here again
  open.returned = {open.lease.request(), open.came};
  if (why != fleet::Refusal::no_slot) open.excluded.add(far_[from].worker);
  open.lease.end(fleet::Outcome::back_pressure);
  ask(id, box_);
  probe_who_is_due();
}

void PeerRouter::token(std::size_t id) {
  if (!options_.streams) return;
  Open& open = open_.at(id);
  open.lease.generated(Tokens(1));
  if (open.from == box_) return;
  PeerRouter& origin = at(open.from);
  if (world_.network().forward_delay == Duration(0)) return origin.token_came(id);
  world_.after(world_.network().forward_delay, [&origin, id] { origin.token_came(id); });
}

void PeerRouter::token_came(std::size_t id) {
  const auto open = open_.find(id);
  if (open != open_.end()) open->second.lease.generated(Tokens(1));
}

void PeerRouter::leave_engine(Open& open, std::int64_t tokens, fleet::Outcome outcome) {
  --serving_;
  if (open.from != box_) origins_.ended(open.from);
  if (outcome == fleet::Outcome::completed) open.lease.settle(Tokens(), Tokens(tokens));
  open.lease.end(outcome);  // whoever waits may enter now
}

void PeerRouter::finished(std::size_t id) {
  Open& open = open_.at(id);
  const std::size_t from = open.from;
  const Duration there = world_.now() - open.arrived;
  leave_engine(open, world_.request(id).tokens, fleet::Outcome::completed);
  open_.erase(id);
  if (from == box_) {
    world_.done(id);
  } else {
    world_.after(world_.network().forward_delay,
                 [this, id, from, there, news = news_for(from)] { at(from).answered(id, box_, there, news); });
  }
  tell_release(from);
}

void PeerRouter::answered(std::size_t id, std::size_t from, Duration there, const std::optional<peers::News>& news) {
  const auto open = open_.find(id);
  if (open == open_.end()) return;  // cancelled meanwhile
  peers::Peer& peer = *far_[from].peer;
  peer.took(world_.now() - open->second.dispatched, there);
  if (news) peer.heard(world_.now(), *news);
  peer.ended(open->second.dispatched, world_.now());
  refresh(from);
  open->second.lease.settle(Tokens(), Tokens(world_.request(id).tokens));
  open->second.lease.end(fleet::Outcome::completed);
  open_.erase(id);
  world_.done(id);
}

void PeerRouter::cancel(std::size_t id) {
  const auto at_hand = open_.find(id);
  if (at_hand == open_.end()) return;
  Open& open = at_hand->second;
  if (open.queued) {
    dispatcher_.cancel(*open.queued);
    if (open.from != box_) {
      --arrivals_waiting_;
      origins_.ended(open.from);
    }
  } else if (const std::size_t to = open.lease.worker().value; to == box_) {
    world_.abort(box_, id);
    leave_engine(open, 0, fleet::Outcome::cancelled);
    tell_release(box_);
  } else {
    far_[to].peer->ended(open.dispatched, world_.now());
    open.lease.end(fleet::Outcome::cancelled);
    world_.after(world_.network().forward_delay, [this, id, to] { at(to).cancel(id); });
  }
  open_.erase(id);
}

// --- what routers know of each other -----------------------------------------------------------------------

std::optional<peers::News> PeerRouter::news_for(std::size_t box) {
  if (options_.exchange == Exchange::gauges) return std::nullopt;
  return origins_.news(box, serving_ + arrivals_waiting_);
}

peers::Status PeerRouter::status(std::size_t to) {
  peers::Status status;
  status.ready = hosts() && !dispatcher_.sheds();
  status.busy = says_.busy;
  status.fingerprint = {says_.served_id, 4096, "vllm", "none", {}, {}, {}, {}};
  status.capacity = says_.capacity;
  status.measured_at = status.rates_at = says_.measured_at;
  if (!options_.known_rates && options_.exchange == Exchange::books && hosts()) {
    status.rates = dispatcher_.rate_points(far_[box_].worker);
  }
  status.running = hosts() ? world_.gauge(box_) : 0;
  status.news = news_for(to);
  return status;
}

void PeerRouter::tell_release(std::size_t but) {
  if (options_.exchange == Exchange::gauges) return;
  for (std::size_t box = 0; box < far_.size(); ++box) {
    if (box == box_ || box == but) continue;
    world_.after(world_.network().forward_delay, [this, box, news = *news_for(box)] { at(box).heard(box_, news); });
  }
}

void PeerRouter::heard(std::size_t from, const peers::News& news) {
  far_[from].peer->heard(world_.now(), news);
  refresh(from);
}

void PeerRouter::probe_who_is_due() {
  const bool waits = dispatcher_.pool().waiting > 0;
  for (std::size_t box = 0; box < far_.size(); ++box) {
    if (far_[box].peer && far_[box].peer->probe_due(world_.now(), waits)) probe(box);
  }
}

void PeerRouter::probe(std::size_t to) {
  far_[to].peer->probe_sent(world_.now());
  if (world_.loses_probe && world_.loses_probe(box_, to)) {
    world_.after(options_.peers.probe_timeout, [this, to] {
      far_[to].peer->probe_lost();
      refresh(to);
    });
    return;
  }
  const Duration half = world_.network().probe_round_trip / 2;
  world_.after(half, [this, to, half] {
    world_.after(half, [this, to, status = at(to).status(box_)] {
      far_[to].peer->probe_answered(world_.now(), status);
      refresh(to);
    });
  });
}

void PeerRouter::refresh(std::size_t box) {
  Far& far = far_[box];
  const peers::PeerShare share = far.peer->share(world_.now());
  const auto rates = far.peer->rates(world_.now());
  if (!options_.known_rates && !std::equal(rates.begin(), rates.end(), far.rates.begin(), far.rates.end())) {
    far.rates.assign(rates.begin(), rates.end());
    dispatcher_.set_rate(far.worker, rates);
  }
  const peers::PeerShare before = std::exchange(far.share, share);
  if (share == before) return;
  if (share.usable) dispatcher_.set_share(far.worker, {share.slots, share.max_in_flight, share.foreign});
  if (share.usable != before.usable) {
    dispatcher_.set_state(far.worker,
                          share.usable ? dispatch::WorkerState::routable : dispatch::WorkerState::unroutable);
  }
}

void PeerRouter::tick() {
  dispatcher_.tick();
  probe_who_is_due();
  for (std::size_t box = 0; box < far_.size(); ++box) {
    if (box != box_) refresh(box);
  }
}

Result<void> set_peer_routers(PeerWorld& world, std::string_view policy, std::uint64_t seed,
                              const PeerRouterOptions& options) {
  std::vector<std::unique_ptr<BoxRouter>> routers;
  for (std::size_t box = 0; box < world.boxes().size(); ++box) {
    auto made = routing::make_policy(policy);
    if (!made) return tl::unexpected(made.error());
    routers.push_back(std::make_unique<PeerRouter>(world, box, std::move(*made), mix64(seed + box), options));
  }
  world.set_routers(std::move(routers));
  for (std::size_t box = 0; box < world.boxes().size(); ++box) static_cast<PeerRouter&>(world.router(box)).meet();
  return {};
}

}  // namespace evenkeel::simulation
