#include "simulation/peer_world.hpp"

#include <algorithm>
#include <utility>

namespace evenkeel::simulation {

namespace {

constexpr Duration tick_every = std::chrono::milliseconds(100);

std::unique_ptr<engine::RateEngine> engine_of(const Box& box) {
  if (box.slots() == 0) return nullptr;
  engine::EngineConfig config;
  config.law = engine::RateLaw{box.tokens_per_s};
  config.slots = static_cast<std::int64_t>(box.slots());
  return std::make_unique<engine::RateEngine>(config);
}

}  // namespace

PeerWorld::PeerWorld(std::vector<Box> boxes, Network network) : boxes_(std::move(boxes)), network_(network) {
  for (const Box& box : boxes_) {
    engines_.push_back({engine_of(box), {}, 0, 0});
    engines_.back().gauge.emplace_back(Time{}, 0);
  }
}

PeerWorld::~PeerWorld() = default;

std::size_t PeerWorld::submit(std::size_t box, std::int64_t tokens, std::uint64_t client,
                              std::optional<std::size_t> only, bool never_shed) {
  const std::size_t id = requests_.size();
  PeerRequest& request = requests_.emplace_back();
  request.entered = box;
  request.tokens = tokens;
  request.client = client;
  request.only = only;
  request.never_shed = never_shed;
  request.submitted = now();
  ++open_;
  routers_[box]->submit(id);
  settle_engines();
  return id;
}

std::size_t PeerWorld::submit_direct(std::size_t box, std::int64_t tokens) {
  const std::size_t id = requests_.size();
  PeerRequest& request = requests_.emplace_back();
  request.entered = box;
  request.tokens = tokens;
  request.submitted = now();
  request.direct = true;
  to_engine(box, id);
  settle_engines();
  return id;
}

void PeerWorld::cancel(std::size_t id) {
  if (!requests_[id].open()) return;
  requests_[id].cancelled = true;
  --open_;
  routers_[requests_[id].entered]->cancel(id);
  settle_engines();
}

void PeerWorld::set_rates(std::size_t box, std::vector<double> tokens_per_s) {
  boxes_[box].tokens_per_s = tokens_per_s;
  engines_[box].model->set_rates(now(), std::move(tokens_per_s));
}

void PeerWorld::after(Duration delay, std::function<void()> what) {
  events_.push({now() + delay, ++order_, std::move(what)});
}

void PeerWorld::to_engine(std::size_t box, std::size_t id) {
  requests_[id].served = box;
  engine::EngineRequest request;
  request.id = id;
  request.prompt = Tokens(1);
  request.output = Tokens(requests_[id].tokens);
  static_cast<void>(engines_[box].model->submit(now(), request));
  note_gauge(engines_[box]);
}

void PeerWorld::abort(std::size_t box, std::size_t id) {
  engines_[box].model->abort(now(), id);
  note_gauge(engines_[box]);
}

void PeerWorld::done(std::size_t id) {
  requests_[id].ended = now();
  --open_;
  if (on_done) on_done(id);
}

void PeerWorld::refuse(std::size_t id) {
  requests_[id].refused = true;
  --open_;
  if (on_done) on_done(id);
}

void PeerWorld::note_gauge(Engine& engine) {
  const engine::EngineBooks books = engine.model->books(0);
  engine.most_running = std::max(engine.most_running, books.running);
  const auto present = static_cast<double>(books.running + books.waiting);
  if (engine.gauge.back().first == now()) {
    engine.gauge.back().second = present;
  } else if (engine.gauge.back().second != present) {
    engine.gauge.emplace_back(now(), present);
  }
  while (engine.gauge.size() > 1 && engine.gauge[1].first <= now() - network_.gauge_lag) engine.gauge.pop_front();
}

double PeerWorld::gauge(std::size_t box) const {
  double shown = 0;
  for (const auto& [since, present] : engines_[box].gauge) {
    if (since > now() - network_.gauge_lag) break;
    shown = present;
  }
  return shown;
}

void PeerWorld::on_event(const engine::EngineEvent& event) { heard_.push_back(event); }

/// Brings the engines up to now and tells routers what came of it, until nothing more comes in this instant.
void PeerWorld::settle_engines() {
  for (std::size_t box = 0; box < engines_.size(); ++box) {
    Engine& engine = engines_[box];
    if (engine.model == nullptr) continue;
    const auto due = engine.model->next_event();
    if (!due || *due > now()) continue;
    engine.model->advance(now(), *this);
    note_gauge(engine);
    engine.most_queued = std::max(engine.most_queued, engine.model->books(0).waiting);
    for (const engine::EngineEvent& event : std::exchange(heard_, {})) tell(box, event);
    box = static_cast<std::size_t>(-1);  // what a router did about it may concern any engine
  }
}

void PeerWorld::tell(std::size_t box, const engine::EngineEvent& event) {
  PeerRequest& request = requests_[event.id];
  if (event.kind == engine::EngineEvent::Kind::started) request.started = now();
  if (request.direct) {
    if (event.kind == engine::EngineEvent::Kind::finished) request.ended = now();
    return;
  }
  if (event.kind == engine::EngineEvent::Kind::tokens) routers_[box]->token(event.id);
  if (event.kind == engine::EngineEvent::Kind::finished) routers_[box]->finished(event.id);
}

Time PeerWorld::next_event() const {
  Time next = next_tick_;
  if (!events_.empty()) next = std::min(next, events_.top().at);
  for (const Engine& engine : engines_) {
    if (engine.model == nullptr) continue;
    if (const auto due = engine.model->next_event()) next = std::min(next, *due);
  }
  return next;
}

void PeerWorld::step(Time to) {
  clock_.set(std::max(now(), to));
  settle_engines();
  while (!events_.empty() && events_.top().at <= now()) {
    const auto what = events_.top().what;
    events_.pop();
    what();
    settle_engines();
  }
  if (now() < next_tick_) return;
  next_tick_ = now() + tick_every;
  for (const auto& router : routers_) router->tick();
  settle_engines();
}

void PeerWorld::run_until(Time end) {
  for (Time next = next_event(); next <= end; next = next_event()) step(next);
  clock_.set(std::max(now(), end));
}

bool PeerWorld::run_until_done(Duration limit) {
  const Time end = now() + limit;
  while (open_ > 0) {
    const Time next = next_event();
    if (next > end) return false;
    step(next);
  }
  return true;
}

}  // namespace evenkeel::simulation
