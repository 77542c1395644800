#include "dispatch/support/world.hpp"

namespace evenkeel::dispatch::testing {

namespace {
constexpr Duration tick_every = milliseconds(100);
}

World::World(std::vector<WorldEngine> engines, DispatcherOptions options, std::unique_ptr<routing::Policy> policy,
             std::uint64_t seed, std::optional<Probing> probing)
    : desk(options, std::move(policy), seed), probing_(probing), probes_(engines.size()) {
  for (WorldEngine& engine : engines) {
    desk.worker(engine.name, engine.max_in_flight);
    engines_.emplace_back(std::move(engine.rates));
  }
  next_probe_ = probing ? Time(probing->phase) : Time::max();
}

std::size_t World::submit(double tokens, std::int64_t prompt) {
  const std::size_t id = jobs.size();
  jobs.push_back({now(), std::nullopt, tokens, nullptr, 0});
  ++open_;
  jobs[id].slip = desk.submit(asking(id, 0, prompt), [this, id](Slip&) { granted_.push_back(id); });
  advance_engines();
  return id;
}

void World::submit_foreign(std::uint32_t worker, double tokens) {
  jobs.push_back({now(), std::nullopt, tokens, nullptr, worker});
  advance_engines();
  begin(jobs.size() - 1, worker);
}

void World::begin(std::size_t job, std::uint32_t worker) {
  jobs[job].worker = worker;
  engines_[worker].submit(job, jobs[job].tokens);
}

void World::advance_engines() {
  for (std::uint32_t worker = 0; worker < engines_.size(); ++worker) {
    for (const std::size_t id : engines_[worker].advance(now())) {
      Job& job = jobs[id];
      job.ended = now();
      if (job.slip == nullptr) continue;
      --open_;
      job.slip->lease.settle(job.slip->lease.prompt_tokens(), Tokens(static_cast<std::int64_t>(job.tokens)));
      job.slip->lease.end(fleet::Outcome::completed);  // may grant others
    }
  }
  for (const std::size_t id : std::exchange(granted_, {})) begin(id, jobs[id].slip->lease.worker().value);
}

void World::stream_tokens() {
  for (const FluidEngine& engine : engines_) {
    engine.each_running([&](std::size_t id, std::int64_t tokens) {
      if (jobs[id].slip == nullptr) return;
      fleet::Lease& lease = jobs[id].slip->lease;
      lease.generated(Tokens(tokens) - lease.output_tokens());
    });
  }
}

void World::probe() {
  if (!probing_) return;
  if (now() >= next_probe_) {
    for (Probe& probe : probes_) {
      probe = {now(), now() + probing_->round_trip / 2, now() + probing_->round_trip, 0};
    }
    next_probe_ += probing_->interval;
  }
  for (std::uint32_t worker = 0; worker < probes_.size(); ++worker) {
    Probe& probe = probes_[worker];
    if (now() >= probe.look_at) {
      probe.seen = engines_[worker].gauge(now() - probing_->gauge_lag);
      probe.look_at = Time::max();
    }
    if (now() >= probe.hear_at) hear(worker);
  }
}

void World::hear(std::uint32_t worker) {
  Probe& probe = probes_[worker];
  probe.hear_at = Time::max();
  EngineReport report;
  report.asked = probe.sent;
  report.received = now();
  report.running = probe.seen;
  desk.dispatcher.report(WorkerId{worker}, report);
  if (on_report) on_report({worker, probe.seen, static_cast<double>(desk.in_flight(WorkerId{worker}))});
}

Time World::next_event() const {
  Time next = std::min(next_tick_, next_probe_);
  for (const FluidEngine& engine : engines_) {
    if (const auto end = engine.next_end()) next = std::min(next, *end);
  }
  for (const Probe& probe : probes_) next = std::min({next, probe.look_at, probe.hear_at});
  return next;
}

void World::run_until(Time end) {
  while (now() < end) {
    desk.clock.set(std::max(now(), std::min(end, next_event())));
    advance_engines();
    if (now() >= next_tick_) {
      stream_tokens();
      desk.dispatcher.tick();
      next_tick_ = now() + tick_every;
      advance_engines();
    }
    probe();
  }
}

void World::run_until_done() {
  while (open_ > 0) run_until(std::max(next_event(), now() + Duration(1)));
}

}  // namespace evenkeel::dispatch::testing
