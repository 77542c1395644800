#include "gateway/router.hpp"

#include <csignal>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "dispatch/recorder.hpp"
#include "gateway/admin.hpp"
#include "gateway/breakers.hpp"
#include "gateway/fleet_control.hpp"
#include "gateway/forecast_keeper.hpp"
#include "gateway/kv_subscriber.hpp"
#include "gateway/metrics_page.hpp"
#include "gateway/peer_board.hpp"
#include "gateway/peer_control.hpp"
#include "gateway/peer_report.hpp"
#include "gateway/pressure_watch.hpp"
#include "gateway/shard.hpp"
#include "gateway/unix_time.hpp"

namespace evenkeel::gateway {

namespace {

/// Set by the signal handler, read by the control loop's housekeeping turn (every 20 ms): async-signal-safe.
/// The first asks for an orderly end, the second for an end now.
std::atomic<int> signals{0};

void on_signal(int) { signals.fetch_add(1); }

redline::Options redline_of(const config::RedlineSettings& settings) {
  redline::Options options;
  options.on = settings.mode != "off";
  options.line = settings.mode == "published" ? redline::Line::published : redline::Line::growth;
  options.level = settings.level;
  options.footprint = redline::footprint_reading_named(settings.footprint).value_or(options.footprint);
  options.reserve = settings.reserve;
  options.band = settings.band;
  options.silo = settings.silo;
  options.prefill_tokens = settings.prefill_tokens;
  options.unknown_output = settings.unknown_output;
  options.share = settings.share;
  options.lease = settings.lease;
  options.when_cut_off = settings.cut_off == "block" ? redline::WhenCutOff::block : redline::WhenCutOff::admit;
  options.when_frozen = settings.frozen == "close" ? redline::WhenFrozen::close : redline::WhenFrozen::meter;
  options.heavy.heavy_tokens = settings.heavy_tokens;
  return options;
}

dispatch::DispatcherOptions options_of(const config::ServeSettings& settings) {
  dispatch::DispatcherOptions options;
  options.pool_requests = static_cast<std::size_t>(settings.pool.requests);
  options.pool_bytes = settings.pool.bytes;
  options.pool_timeout = settings.pool.timeout;
  options.unroutable_wait = settings.pool.unroutable_wait;
  if (settings.pool.overtake_cap >= 0) options.overtake_cap = static_cast<int>(settings.pool.overtake_cap);
  options.prefix_index = {static_cast<std::size_t>(settings.prefix.blocks), settings.prefix.lifetime};
  options.redline = redline_of(settings.redline);
  options.signal_lifetime = std::max<Duration>(std::chrono::seconds(10), 3 * settings.health.interval);
  return options;
}

/// Of prompt keys; apart from every other use of the seed.
std::uint64_t salt_of(std::uint64_t seed) { return mix64(seed ^ 0x70726F6D70742E6BU); }

std::uint64_t seed_of(const config::ServeSettings& settings) {
  if (settings.seed != 0) return settings.seed;
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

std::unique_ptr<dispatch::Recorder> make_recorder(observe::LogWriter* to, const config::ServeSettings& settings,
                                                  std::uint64_t seed) {
  if (to == nullptr) return nullptr;
  return std::make_unique<dispatch::Recorder>([to](std::string_view line) { to->append(line); }, settings.policy, seed,
                                              options_of(settings));
}

/// Where no peer is declared there is no board, and nothing of what it is for is done.
std::unique_ptr<PeerBoard> make_board(const config::ServeSettings& settings, dispatch::Dispatcher& dispatcher,
                                      Breakers& breakers, const Clock& clock) {
  if (settings.peers.empty()) return nullptr;
  std::random_device device;
  SelfIdentity self;
  self.instance = fmt::format("{:08x}{:08x}", device(), device());
  self.name = settings.self_name.empty() ? self.instance : settings.self_name;
  self.epoch = static_cast<std::uint64_t>(unix_ms());
  return std::make_unique<PeerBoard>(settings, dispatcher, breakers, clock, std::move(self));
}

std::unique_ptr<PressureWatch> make_pressure_watch(const config::PressureSettings& settings,
                                                   dispatch::Dispatcher& dispatcher) {
  if (settings.mode == "off") return nullptr;
  return std::make_unique<PressureWatch>(settings, [&dispatcher](bool sheds) { dispatcher.set_shedding(sheds); });
}

}  // namespace

/// In the order in which they need each other; destroyed in reverse.
struct Router::Parts {
  Parts(const config::ServeSettings& chosen, std::unique_ptr<routing::Policy> policy, std::uint64_t chosen_seed,
        std::unique_ptr<observe::LogWriter> recording, std::unique_ptr<ModelNames> known_models,
        std::unique_ptr<ForecastKeeper> forecast_keeper)
      : settings(chosen),
        seed(chosen_seed),
        record(std::move(recording)),
        recorder(make_recorder(record.get(), settings, seed)),
        dispatcher(options_of(settings), std::move(policy), clock, seed, recorder.get()),
        models(std::move(known_models)),
        forecasts(std::move(forecast_keeper)),
        breakers(settings.health, dispatcher, clock),
        kv_events(clock, [this](WorkerId worker) { dispatcher.forget_prefixes(worker); }),
        pressure(make_pressure_watch(settings.pressure, dispatcher)),
        retries(settings.retry.budget),
        responses(static_cast<std::size_t>(settings.limits.remembered_responses)),
        peers(make_board(settings, dispatcher, breakers, clock)),
        shared{
            settings, dispatcher, breakers, retries, responses, ranks, forecasts ? forecasts->salt() : salt_of(seed)} {
    shared.peers = peers.get();
    shared.pressure = pressure.get();
    shared.metrics_page = [this] {
      std::string page = metrics_page(shards, dispatcher, breakers, ranks, log.get(), *models, forecasts.get(),
                                      pressure.get(), kv_events.statuses(), clock.now());
      if (peers) page += peer_metrics(*peers);
      return page;
    };
  }

  http::Task<void> housekeep(http::Fiber& fiber);
  void watch_writers();
  /// Makes the plans that were put off, each when it is due.
  http::Task<void> plan(http::Fiber& fiber);

  const config::ServeSettings settings;
  std::uint64_t seed;
  SteadyClock clock;
  std::unique_ptr<observe::LogWriter> record;
  std::unique_ptr<dispatch::Recorder> recorder;
  dispatch::Dispatcher dispatcher;
  std::unique_ptr<ModelNames> models;
  std::unique_ptr<ForecastKeeper> forecasts;  ///< null = off
  Breakers breakers;
  KvSubscriber kv_events;
  std::unique_ptr<PressureWatch> pressure;  ///< null = off
  RetryBudget retries;
  ResponseOwners responses;
  RankMarks ranks;
  std::unique_ptr<PeerBoard> peers;  ///< null = none is declared
  std::unique_ptr<observe::LogWriter> log;
  Shared shared;
  std::vector<std::unique_ptr<Shard>> shards;
  http::EventLoop loop;  // control
  std::unique_ptr<FleetControl> control;
  std::unique_ptr<PeerControl> peer_control;  ///< null = no peer is declared
  std::unique_ptr<Admin> admin;
  std::unique_ptr<http::Server> admin_server;
  std::uint16_t port = 0;
  std::atomic<bool> stop_asked{false};
  bool clean = true;
  bool log_warned = false;
  bool record_warned = false;
};

Router::Router(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Router::~Router() = default;
std::uint16_t Router::port() const { return parts_->port; }
std::uint16_t Router::admin_port() const { return parts_->admin_server->port(); }
void Router::stop() { parts_->stop_asked.store(true); }

Result<std::unique_ptr<Router>> Router::make(const config::ServeSettings& settings) {
  auto policy = routing::make_policy(settings.policy);
  if (!policy) return tl::unexpected(policy.error());
  std::unique_ptr<observe::LogWriter> recording;
  if (settings.record != "off") {
    auto opened = observe::LogWriter::open(settings.record, "recording", true);
    if (!opened) return tl::unexpected(opened.error());
    recording = std::move(*opened);
  }
  const std::uint64_t seed = seed_of(settings);
  auto models = std::make_unique<ModelNames>();
  std::unique_ptr<ForecastKeeper> forecasts;
  if (settings.forecast_file != "off") {
    auto opened = ForecastKeeper::open(settings.forecast_file, salt_of(seed), *models);
    if (!opened) return tl::unexpected(opened.error());
    forecasts = std::move(*opened);
  }
  auto parts = std::make_unique<Parts>(settings, std::move(*policy), seed, std::move(recording), std::move(models),
                                       std::move(forecasts));
  if (settings.access_log != "off") {
    auto log = observe::LogWriter::open(settings.access_log, "access log");
    if (!log) return tl::unexpected(log.error());
    parts->log = std::move(*log);
    parts->shared.access_log = parts->log.get();
  }

  if (parts->pressure) parts->pressure->tick(parts->clock.now());  // before the first request comes

  auto address = http::resolve(settings.host, static_cast<std::uint16_t>(settings.port));
  if (!address) return tl::unexpected(address.error());
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int threads = settings.threads > 0 ? settings.threads : cores;
  for (int i = 0; i < threads; ++i) {
    parts->shards.push_back(std::make_unique<Shard>(parts->shared, parts->seed + static_cast<std::uint64_t>(i) + 1));
    const auto port = parts->shards.back()->listen(*address, threads > 1);
    if (!port) return tl::unexpected(port.error());
    parts->port = *port;
    if (i == 0 && settings.port == 0) {  // the others join the port that the first one got
      address = http::resolve(settings.host, *port);
      if (!address) return tl::unexpected(address.error());
    }
  }

  Parts* const raw = parts.get();
  parts->control =
      std::make_unique<FleetControl>(parts->settings, parts->loop, parts->dispatcher, parts->breakers, parts->ranks,
                                     parts->kv_events, [raw](std::shared_ptr<const FleetMap> map) {
                                       raw->models->know(*map);
                                       for (auto& shard : raw->shards) shard->publish(map);
                                     });
  if (parts->forecasts) {
    parts->forecasts->recall(parts->dispatcher,
                             [raw](const std::string& name) { return raw->control->model_id(name); });
  }
  parts->admin = std::make_unique<Admin>(*parts->control, parts->dispatcher, parts->breakers, parts->peers.get(),
                                         parts->pressure.get(), parts->shared.metrics_page);
  const auto admin_address = http::resolve(settings.admin_host, static_cast<std::uint16_t>(settings.admin_port));
  if (!admin_address) return tl::unexpected(admin_address.error());
  http::ServerLimits admin_limits;
  admin_limits.body = 1U << 20U;
  admin_limits.connections = 1024;
  auto admin_server = http::Server::open(
      parts->loop, *admin_address,
      [raw](http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder) {
        return raw->admin->handle(fiber, request, responder);
      },
      admin_limits);
  if (!admin_server) return tl::unexpected(admin_server.error());
  parts->admin_server = std::move(*admin_server);

  for (const auto& worker : settings.workers) {
    const auto added = parts->control->add(worker);
    if (!added) return tl::unexpected(added.error());
  }
  if (parts->peers) {
    parts->peer_control = std::make_unique<PeerControl>(parts->settings, parts->loop, *parts->peers, *parts->control);
    parts->peer_control->start();
  }
  return std::unique_ptr<Router>(new Router(std::move(parts)));
}

http::Task<void> Router::Parts::plan(http::Fiber& fiber) {
  dispatcher.set_alarm([this, &fiber](Time due) { loop.post([&fiber, due] { fiber.set_deadline(due); }); });
  while (true) {
    co_await fiber.wait();
    if (!fiber.deadline_passed()) continue;
    fiber.clear_deadline();
    dispatcher.plan_due();
  }
}

void Router::Parts::watch_writers() {
  const auto warn_once = [](const observe::LogWriter* writer, std::string_view what, bool& told) {
    if (writer == nullptr || told || writer->dropped() == 0) return;
    spdlog::error("the {} loses lines: its disk is full, too slow or gone", what);
    told = true;
  };
  warn_once(log.get(), "access log", log_warned);
  warn_once(record.get(), "recording", record_warned);
}

http::Task<void> Router::Parts::housekeep(http::Fiber& fiber) {
  constexpr Duration beat = std::chrono::milliseconds(20);
  while (!stop_asked.load() && signals.load() == 0) {
    co_await fiber.sleep_until(fiber.loop().now() + beat);
    dispatcher.tick();
    breakers.tick();
    watch_writers();
    if (forecasts) forecasts->tick(dispatcher, clock.now());
    if (pressure) pressure->tick(clock.now());
  }
  spdlog::info("stopping: {} requests are open, they have {:.0f} s", shared.requests.load(),
               to_seconds(settings.drain_timeout));
  shared.draining.store(true);
  for (auto& shard : shards) shard->drain();
  const Time deadline = fiber.loop().now() + settings.drain_timeout;
  while (shared.requests.load() > 0 && fiber.loop().now() < deadline && signals.load() < 2) {
    co_await fiber.sleep_until(fiber.loop().now() + beat);
    dispatcher.tick();
  }
  dispatcher.close();  // what still waits is told so
  const Time last = fiber.loop().now() + std::chrono::milliseconds(500);
  if (shared.requests.load() > 0) {
    clean = false;
    spdlog::warn("{} requests were cut off at the deadline", shared.requests.load());
    for (auto& shard : shards) shard->cut_off();
    while (shared.requests.load() > 0 && fiber.loop().now() < last)
      co_await fiber.sleep_until(fiber.loop().now() + beat);
  }
  if (forecasts) forecasts->save(dispatcher, clock.now());
  for (auto& shard : shards) shard->stop();
  control->stop();
  if (peer_control) peer_control->stop();
  fiber.loop().stop();
}

bool Router::run() {
  signals.store(0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  for (auto& shard : parts_->shards) shard->start();
  parts_->loop.spawn([](http::Fiber& fiber, Parts* parts) { return parts->housekeep(fiber); }, parts_.get());
  parts_->loop.spawn([](http::Fiber& fiber, Parts* parts) { return parts->plan(fiber); }, parts_.get());
  parts_->loop.run();
  for (auto& shard : parts_->shards) shard->join();
  parts_->dispatcher.set_alarm({});  // what ends from now on must not ring at a loop that is gone
  return parts_->clean && parts_->dispatcher.sound();
}

}  // namespace evenkeel::gateway
