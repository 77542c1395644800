#include "emulator/live_engine.hpp"

#include <cmath>
#include <utility>

namespace evenkeel::emulator {

Result<std::shared_ptr<LiveEngine>> LiveEngine::start(http::EventLoop& loop, const engine::EngineConfig& config,
                                                      double scale) {
  auto model = engine::make_engine(config);
  if (!model) return tl::unexpected<Error>(model.error());
  std::shared_ptr<LiveEngine> live(new LiveEngine(loop, std::move(*model), scale));
  live->driver_ = &loop.spawn(drive, live);
  return live;
}

LiveEngine::LiveEngine(http::EventLoop& loop, std::unique_ptr<engine::EngineModel> model, double scale)
    : loop_(loop), model_(std::move(model)), scale_(scale), anchor_real_(loop.now()) {}

Time LiveEngine::now() const {
  if (stalled_) return anchor_engine_;
  const auto real = static_cast<double>((loop_.now() - anchor_real_).count());
  return anchor_engine_ + Duration(static_cast<std::int64_t>(real * scale_));
}

Time LiveEngine::real_time_of(Time engine_time) const {
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
  // advance() stops behind the end of a step so that its driver can react; nobody here reacts within a turn.
  while (true) {
    model_->advance(until, *this);
    const auto next = model_->next_event();
    if (!next || *next > until) break;
  }
  history_.note(loop_.now(), *model_);
}

void LiveEngine::wake_driver() {
  if (driver_ != nullptr) driver_->wake();
}

engine::SubmitOutcome LiveEngine::submit(const engine::EngineRequest& request, Inbox& inbox, std::uint32_t sequence) {
  catch_up();
  const auto outcome = model_->submit(now(), request);
  if (outcome == engine::SubmitOutcome::accepted) {
    routes_.emplace(request.id, Route{&inbox, sequence});
    wake_driver();
  }
  return outcome;
}

void LiveEngine::abort(engine::RequestId id) {
  if (routes_.erase(id) == 0) return;
  catch_up();
  (void)model_->abort(now(), id);
  wake_driver();
}

void LiveEngine::set_stalled(bool stalled) {
  if (stalled == stalled_) return;
  catch_up();
  set_anchor();
  stalled_ = stalled;
  wake_driver();
}

std::size_t LiveEngine::least_loaded_rank() const {
  std::size_t best = 0;
  std::int64_t least = -1;
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    const auto books = model_->books(rank);
    const std::int64_t load = books.running + books.waiting;
    if (least < 0 || load < least) {
      least = load;
      best = rank;
    }
  }
  return best;
}

void LiveEngine::on_event(const engine::EngineEvent& event) {
  using Kind = engine::EngineEvent::Kind;
  if (event.kind != Kind::tokens && event.kind != Kind::finished) return;
  const auto found = routes_.find(event.id);
  if (found == routes_.end()) return;
  const Route route = found->second;
  auto& outputs = route.inbox->outputs;
  if (event.kind == Kind::tokens) {
    outputs.push_back({route.sequence, event.count.value(), false, event.at});
  } else {
    // The finish belongs to the last token, which came at the same instant.
    routes_.erase(found);
    for (auto it = outputs.rbegin(); it != outputs.rend(); ++it) {
      if (it->sequence == route.sequence) {
        it->finished = true;
        break;
      }
    }
  }
  route.inbox->fiber.wake();
}

}  // namespace evenkeel::emulator
