#include "emulator/live_engine.hpp"

#include <cmath>
#include <utility>
#include <variant>

#include "emulator/dense_ranks.hpp"

namespace evenkeel::emulator {

Result<std::shared_ptr<LiveEngine>> LiveEngine::start(http::EventLoop& loop, const LiveEngineOptions& options) {
  std::unique_ptr<engine::EngineModel> model;
  if (options.sync) {
    auto made = engine::make_engine(options.config);
    if (!made) return tl::unexpected<Error>(made.error());
    model = std::move(*made);
  } else {
    auto made = DenseRanks::make(options.config);
    if (!made) return tl::unexpected<Error>(made.error());
    model = std::move(*made);
  }
  std::shared_ptr<LiveEngine> live(new LiveEngine(loop, std::move(model), options));
  live->driver_ = &loop.spawn(drive, live);
  return live;
}

LiveEngine::LiveEngine(http::EventLoop& loop, std::unique_ptr<engine::EngineModel> model,
                       const LiveEngineOptions& options)
    : loop_(loop),
      model_(std::move(model)),
      caches_(dynamic_cast<engine::CachedRanks*>(model_.get())),
      scale_(options.scale),
      balancer_(options.balancing, model_->ranks()),
      meter_(model_->ranks(), options.config.slots,
             options.sync && std::holds_alternative<engine::StepLaw>(options.config.law)),
      in_flight_(model_->ranks()),
      received_(model_->ranks()),
      steps_(model_->ranks()),
      told_(model_->ranks()),
      anchor_real_(loop.now()) {}

Time LiveEngine::now() const {
  if (stalled_) return anchor_engine_;
  const auto real = static_cast<double>((loop_.now() - anchor_real_).count());
  return anchor_engine_ + Duration(static_cast<std::int64_t>(real * scale_));
}

Time LiveEngine::real_time_of(Time engine_time) const {
  constexpr Duration look = std::chrono::milliseconds(50);
  if (stalled_) return loop_.now() + look;
  // Up, so that now() at that instant is not before engine_time.
  const double real = std::ceil(static_cast<double>((engine_time - anchor_engine_).count()) / scale_) + 1;
  constexpr double far = 9e18;  // a step may last longer than the clock can tell
  if (real > far - static_cast<double>(anchor_real_.time_since_epoch().count())) return http::Fiber::never;
  return anchor_real_ + Duration(static_cast<std::int64_t>(real));
}

void LiveEngine::set_anchor() {
  anchor_engine_ = now();
  anchor_real_ = loop_.now();
}

http::Task<void> LiveEngine::drive(http::Fiber& fiber, std::shared_ptr<LiveEngine> self) {
  struct Frame {
    LiveEngine& engine;
    ~Frame() { engine.driver_ = nullptr; }
  } frame{*self};
  while (true) {
    self->catch_up();
    const auto due = self->model_->next_event();
    if (due && !self->stalled_) {
      fiber.set_deadline(self->real_time_of(*due));
    } else {
      fiber.clear_deadline();
    }
    co_await fiber.wait();
  }
}

void LiveEngine::catch_up() {
  const Time until = now();
  const auto due = model_->next_event();
  if (!due || *due > until) return;
  ++catch_ups_;
  catching_up_to_ = until;
  // Instant by instant, and a step's end apart from the start of the next, so that the meter sees what stands between.
  for (auto next = due; next && *next <= until; next = model_->next_event()) {
    balancer_.see(*next, *model_);
    model_->advance(*next, *this);
    meter_.look(*next, *model_);
    if (publisher_) publisher_->flush();
  }
  history_.note(loop_.now(), *model_);
}

void LiveEngine::publish_to(std::shared_ptr<KvPublisher> publisher) {
  publisher_ = std::move(publisher);
  for (std::size_t rank = 0; caches_ != nullptr && rank < ranks(); ++rank) {
    caches_->observe_cache(rank, publisher_->of_rank(rank));
  }
}

void LiveEngine::clear_caches(bool as_new_process) {
  catch_up();
  for (std::size_t rank = 0; caches_ != nullptr && rank < ranks(); ++rank) caches_->clear_cache(rank);
  if (!publisher_) return;
  if (as_new_process) return publisher_->restart();
  publisher_->note_cleared();
  publisher_->flush();
}

void LiveEngine::wake_driver() {
  if (driver_ != nullptr) driver_->wake();
}

engine::SubmitOutcome LiveEngine::submit(const engine::EngineRequest& request, Inbox& inbox, std::uint32_t sequence) {
  catch_up();
  const auto outcome = model_->submit(now(), request);
  if (outcome == engine::SubmitOutcome::accepted) {
    routes_.emplace(request.id, Route{.inbox = &inbox, .sequence = sequence, .rank = request.rank});
    ++in_flight_[request.rank];
    ++received_[request.rank];
    wake_driver();
  }
  return outcome;
}

void LiveEngine::abort(engine::RequestId id) {
  const auto found = routes_.find(id);
  if (found == routes_.end()) return;
  --in_flight_[found->second.rank];
  routes_.erase(found);
  catch_up();
  (void)model_->abort(now(), id);
  meter_.look_between(now(), *model_);
  wake_driver();
}

void LiveEngine::kv_arrived(engine::RequestId id, bool whole) {
  catch_up();
  (void)model_->kv_arrived(now(), id, whole);
  meter_.look_between(now(), *model_);
  wake_driver();
}

void LiveEngine::free_kept(engine::RequestId id) {
  catch_up();
  (void)model_->abort(now(), id);
  wake_driver();
}

http::Task<void> LiveEngine::wait_until(http::Fiber& fiber, Time engine_time) {
  while (now() < engine_time) co_await fiber.sleep_until(real_time_of(engine_time));
}

std::size_t LiveEngine::choose_rank() {
  catch_up();
  balancer_.see(now(), *model_);
  return balancer_.choose(in_flight_);
}

void LiveEngine::set_stalled(bool stalled) {
  if (stalled == stalled_) return;
  catch_up();
  set_anchor();
  stalled_ = stalled;
  wake_driver();
}

void LiveEngine::on_event(const engine::EngineEvent& event) {
  using Kind = engine::EngineEvent::Kind;
  switch (event.kind) {
    case Kind::preempted: return;
    case Kind::pulling: {
      const auto found = routes_.find(event.id);
      if (found == routes_.end()) return;
      found->second.inbox->pulling = true;
      found->second.inbox->fiber.wake();
      return;
    }
    case Kind::started: {
      const auto found = routes_.find(event.id);
      if (found == routes_.end() || std::exchange(found->second.started, true)) return;
      found->second.started_at = event.at;
      found->second.cached = event.count.value();
      return;
    }
    case Kind::tokens:
      deliver(event.at, {.id = event.id, .count = static_cast<std::int32_t>(event.count.value())});
      return;
    case Kind::finished: finish(event.id, event.at); return;
  }
}

void LiveEngine::on_deliveries(Time at, std::span<const engine::Delivery> deliveries) {
  for (const engine::Delivery& each : deliveries) deliver(at, each);
}

void LiveEngine::deliver(Time at, const engine::Delivery& delivery) {
  meter_.tokens(delivery.count);
  const auto found = routes_.find(delivery.id);
  if (found == routes_.end()) return;
  Route& route = found->second;
  route.generated += delivery.count;
  route.inbox->outputs.push_back({route.sequence, delivery.count, false, at, route.cached});
  route.inbox->fiber.wake();
  if (delivery.finished) finish(delivery.id, at);
}

void LiveEngine::finish(engine::RequestId id, Time at) {
  const auto found = routes_.find(id);
  if (found == routes_.end()) return;
  const Route route = found->second;
  routes_.erase(found);
  --in_flight_[route.rank];
  meter_.finished(at - route.started_at, route.generated);
  // The finish belongs to the last token, which came at the same instant.
  auto& outputs = route.inbox->outputs;
  for (auto it = outputs.rbegin(); it != outputs.rend(); ++it) {
    if (it->sequence != route.sequence) continue;
    it->finished = true;
    break;
  }
  route.inbox->fiber.wake();
}

void LiveEngine::on_step(const engine::StepReport& report) {
  const bool late = told_[report.first_rank] == catch_ups_;
  for (std::size_t i = 0; i < report.ranks.size(); ++i) ++steps_[report.first_rank + i];
  told_[report.first_rank] = catch_ups_;
  meter_.step(report, catching_up_to_, late);
}

}  // namespace evenkeel::emulator
