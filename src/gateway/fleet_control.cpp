#include "gateway/fleet_control.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "config/load.hpp"

namespace evenkeel::gateway {

namespace {

constexpr std::size_t answer_limit = 8U << 20U;
constexpr Duration models_every = std::chrono::seconds(10);

}  // namespace

FleetControl::FleetControl(const config::ServeSettings& settings, http::EventLoop& loop,
                           dispatch::Dispatcher& dispatcher, Breakers& breakers, Publish publish)
    : settings_(settings), loop_(loop), dispatcher_(dispatcher), breakers_(breakers), publish_(std::move(publish)) {
  for (const auto& model : settings_.models) (void)model_id(model.name);
  rebuild_map();
}

ModelId FleetControl::model_id(const std::string& served) {
  const auto [at, fresh] = model_ids_.try_emplace(served, ModelId{static_cast<std::uint32_t>(served_.size())});
  if (fresh) served_.push_back(served);
  return at->second;
}

FleetControl::Worker* FleetControl::find(std::string_view name) {
  for (auto& worker : workers_) {
    if (worker->upstream->name == name && !worker->facts.removed) return worker.get();
  }
  return nullptr;
}

Result<WorkerId> FleetControl::add(const config::WorkerSetting& setting) {
  const auto url = http::parse_url(setting.url);
  if (!url) return tl::unexpected(url.error());
  const auto key = config::api_key(setting);
  if (!key) return tl::unexpected(key.error());
  const std::string authorization = key->empty() ? "" : "Bearer " + *key;
  const auto kind = engines::kind_named(setting.engine);
  const std::string name = setting.name.empty() ? url->authority() : setting.name;
  if (find(name) != nullptr) return failure(fmt::format("there is a worker named \"{}\" already", name));

  auto worker = std::make_unique<Worker>();
  worker->setting = setting;
  worker->kind_known = kind.has_value();
  const engines::Adapter& adapter = engines::adapter(kind.value_or(engines::Kind::openai));
  worker->limit = setting.max_in_flight > 0 ? setting.max_in_flight : settings_.max_in_flight;
  worker->limit_given = worker->limit > 0;
  if (!worker->limit_given) worker->limit = adapter.default_max_in_flight();
  worker->ceiling = worker->limit;
  worker->upstream = std::make_shared<Upstream>();
  Upstream& upstream = *worker->upstream;
  upstream = {WorkerId{}, name, {}, url->authority(), url->base_path, authorization, &adapter};
  worker->url = *url;
  worker->facts.url = setting.url;
  worker->facts.engine = worker->kind_known ? std::string(adapter.name()) : "unknown";

  const WorkerId id = dispatcher_.add_worker({name, {}, worker->limit});
  upstream.id = worker->id = id;
  find_address(*worker);
  breakers_.add(id);
  Worker* const kept = worker.get();
  if (workers_.size() <= id.value) workers_.resize(id.value + 1);
  if (workers_[id.value] != nullptr && workers_[id.value]->fiber != nullptr)
    retired_.push_back(std::move(workers_[id.value]));
  workers_[id.value] = std::move(worker);
  if (!setting.models.empty()) {
    std::vector<engines::ModelCard> cards;
    for (const auto& model : setting.models) cards.push_back({model, std::nullopt});
    take_models(*kept, std::move(cards));
  }
  rebuild_map();
  kept->fiber = &loop_.spawn([](http::Fiber& fiber, FleetControl* self, Worker* of) { return self->watch(fiber, of); },
                             this, kept);
  return id;
}

void FleetControl::find_address(Worker& worker) {
  // A name that is not there yet is a worker that is not there yet: it is asked for again before each probe.
  const auto address = http::resolve(worker.url.host, worker.url.port);
  if (!address) {
    worker.facts.last_error = address.error().message;
    return;
  }
  auto upstream = std::make_shared<Upstream>(*worker.upstream);
  upstream->address = *address;
  worker.upstream = std::move(upstream);
}

bool FleetControl::remove(std::string_view name) {
  Worker* const worker = find(name);
  if (worker == nullptr) return false;
  worker->facts.removed = worker->stopped = true;
  breakers_.set_draining(worker->id, true);
  worker->fiber->wake();
  rebuild_map();
  return true;
}

bool FleetControl::drain(std::string_view name) {
  Worker* const worker = find(name);
  if (worker != nullptr) breakers_.set_draining(worker->id, false);
  return worker != nullptr;
}

bool FleetControl::activate(std::string_view name) {
  Worker* const worker = find(name);
  if (worker != nullptr) breakers_.set_active(worker->id);
  return worker != nullptr;
}

bool FleetControl::set_max_in_flight(std::string_view name, std::int64_t limit) {
  Worker* const worker = find(name);
  if (worker == nullptr) return false;
  worker->limit = worker->ceiling = limit;
  worker->limit_given = true;
  dispatcher_.set_max_in_flight(worker->id, limit);
  return true;
}

const FleetControl::WorkerFacts* FleetControl::facts(WorkerId id) const {
  return id.value < workers_.size() && workers_[id.value] ? &workers_[id.value]->facts : nullptr;
}

void FleetControl::stop() {
  stopped_ = true;
  for (auto& worker : workers_) {
    worker->stopped = true;
    if (worker->fiber != nullptr) worker->fiber->wake();
  }
}

http::Task<void> FleetControl::watch(http::Fiber& fiber, Worker* worker) {
  while (!worker->stopped) {
    const Time begun = fiber.loop().now();
    co_await probe(fiber, *worker);
    const Time next = begun + settings_.health.interval;
    fiber.set_deadline(next);
    while (!worker->stopped && fiber.loop().now() < next) co_await fiber.wait();
  }
  worker->fiber = nullptr;
}

http::Task<http::FetchResult> FleetControl::get(http::Fiber& fiber, Worker& worker, std::string_view path) {
  http::ClientRequest request;
  request.path = worker.upstream->base_path + std::string(path);
  request.host = worker.upstream->authority;
  request.fields.emplace_back("User-Agent", "evenkeel");
  if (!worker.upstream->authorization.empty())
    request.fields.emplace_back("Authorization", worker.upstream->authorization);
  const Time deadline = fiber.loop().now() + settings_.health.timeout;
  co_return co_await http::fetch(fiber, worker.upstream->address, std::move(request), deadline, answer_limit,
                                 &worker.connections);
}

http::Task<void> FleetControl::probe(http::Fiber& fiber, Worker& worker) {
  if (worker.upstream->address.size() == 0) {
    find_address(worker);
    if (worker.upstream->address.size() == 0) co_return;
    rebuild_map();
  }
  if (!worker.kind_known) co_await discover_kind(fiber, worker);
  if (worker.stopped) co_return;
  const auto health = co_await get(fiber, worker, worker.upstream->adapter->health_path());
  const bool good = health.status == http::ClientStatus::ok && health.code >= 200 && health.code < 300;
  if (good) {
    worker.facts.last_error.clear();
  } else {
    worker.facts.last_error = health.status == http::ClientStatus::ok
                                  ? fmt::format("{} answered {}", worker.upstream->adapter->health_path(), health.code)
                                  : std::string(http::to_string(health.status));
  }
  if (worker.stopped) co_return;
  if (good) {
    const bool stale = worker.models_read == Time::min() || fiber.loop().now() - worker.models_read >= models_every;
    if (stale) {
      const bool read = co_await read_models(fiber, worker);
      if (!read && !worker.discovered) {  // healthy without models: nothing could be sent to it
        breakers_.probed(worker.id, false);
        co_return;
      }
    }
    if (worker.stopped) co_return;
  }
  breakers_.probed(worker.id, good);
  if (good) co_await scrape(fiber, worker);
}

http::Task<void> FleetControl::discover_kind(http::Fiber& fiber, Worker& worker) {
  engines::DetectionInput input;
  auto models = co_await get(fiber, worker, "/v1/models");
  if (models.status != http::ClientStatus::ok) co_return;  // not there yet: ask again next time
  if (models.code == 200) input.models_body = std::move(models.body);
  auto metrics = co_await get(fiber, worker, "/metrics");
  if (metrics.status == http::ClientStatus::ok && metrics.code == 200) input.metrics_body = std::move(metrics.body);
  auto props = co_await get(fiber, worker, "/props");
  if (props.status == http::ClientStatus::ok && props.code == 200) input.props_body = std::move(props.body);
  auto info = co_await get(fiber, worker, "/info");
  if (info.status == http::ClientStatus::ok && info.code == 200) input.info_body = std::move(info.body);
  const engines::Kind kind = engines::detect(input);
  worker.kind_known = true;
  auto upstream = std::make_shared<Upstream>(*worker.upstream);
  upstream->adapter = &engines::adapter(kind);
  worker.upstream = std::move(upstream);
  worker.facts.engine = worker.upstream->adapter->name();
  if (!worker.limit_given) {
    worker.limit = worker.ceiling = worker.upstream->adapter->default_max_in_flight();
    dispatcher_.set_max_in_flight(worker.id, worker.limit);
  }
  spdlog::info("worker {} is {}; at most {} requests in flight", worker.upstream->name, worker.facts.engine,
               worker.limit);
  rebuild_map();
}

http::Task<bool> FleetControl::read_models(http::Fiber& fiber, Worker& worker) {
  if (!worker.setting.models.empty()) {
    worker.models_read = fiber.loop().now();
    co_return true;
  }
  const auto answer = co_await get(fiber, worker, "/v1/models");
  if (answer.status != http::ClientStatus::ok || answer.code != 200) {
    worker.facts.last_error = fmt::format("/v1/models: {}", answer.status == http::ClientStatus::ok
                                                                ? std::to_string(answer.code)
                                                                : std::string(http::to_string(answer.status)));
    co_return false;
  }
  auto cards = engines::read_models(answer.body);
  if (!cards || cards->empty()) {
    worker.facts.last_error = cards ? "/v1/models lists no model" : cards.error().message;
    co_return false;
  }
  worker.models_read = fiber.loop().now();
  take_models(worker, std::move(*cards));
  co_return true;
}

http::Task<void> FleetControl::scrape(http::Fiber& fiber, Worker& worker) {
  const auto scrapes = worker.upstream->adapter->scrapes();
  if (scrapes.empty()) co_return;
  std::vector<std::string> bodies;
  const Time asked = fiber.loop().now();
  for (const auto& what : scrapes) {
    auto answer = co_await get(fiber, worker, what.path);
    bodies.push_back(answer.status == http::ClientStatus::ok && answer.code == 200 ? std::move(answer.body)
                                                                                   : std::string());
  }
  if (worker.stopped) co_return;
  const engines::Report report = worker.upstream->adapter->read(bodies);
  take_limit(worker, report);
  if (!report.running && !report.waiting) co_return;  // unknown differs from zero
  dispatch::EngineReport told;
  told.asked = asked;
  told.received = fiber.loop().now();
  told.running = report.running.value_or(0);
  told.waiting = report.waiting.value_or(0);
  told.kv_used = report.kv_used.value_or(Tokens());
  told.kv_capacity = report.kv_capacity.value_or(Tokens());
  dispatcher_.report(worker.id, told);
}

void FleetControl::take_limit(Worker& worker, const engines::Report& report) {
  if (worker.limit_given) return;
  std::int64_t limit = worker.limit;
  if (report.slots && *report.slots > 0) {
    limit = worker.ceiling = *report.slots;
  } else if (report.preemptions_total) {
    // An engine that preempts was given more than its memory holds; one that has not for a while may try one more.
    const double before = worker.preemptions.value_or(*report.preemptions_total);
    worker.preemptions = report.preemptions_total;
    const double running = report.running.value_or(0);
    if (*report.preemptions_total > before) {
      limit = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(0.8 * std::min(static_cast<double>(limit), std::max(running, 1.0))));
      spdlog::warn("worker {} preempts: at most {} requests in flight from now on", worker.upstream->name, limit);
    } else if (limit < worker.ceiling && running >= 0.95 * static_cast<double>(limit)) {
      ++limit;
    }
  }
  if (limit == worker.limit) return;
  worker.limit = limit;
  dispatcher_.set_max_in_flight(worker.id, limit);
}

void FleetControl::take_models(Worker& worker, std::vector<engines::ModelCard> cards) {
  std::vector<ModelId> ids;
  std::vector<std::string> names;
  for (const auto& card : cards) {
    if (ids.size() >= 1024 || served_.size() >= 65536) break;  // a worker cannot grow us without bound
    ids.push_back(model_id(card.id));
    names.push_back(card.id);
  }
  const bool changed = !worker.discovered || names != worker.facts.models;
  worker.discovered = true;
  worker.cards = std::move(cards);
  if (!changed) return;
  worker.facts.models = std::move(names);
  dispatcher_.set_models(worker.id, std::move(ids));
  rebuild_map();
}

void FleetControl::rebuild_map() {
  auto map = std::make_shared<FleetMap>();
  map->max_model_len.resize(served_.size(), 0);
  std::vector<bool> wanted(served_.size(), false);
  for (const auto& model : settings_.models) wanted[model_ids_.at(model.name).value] = true;
  for (const auto& worker : workers_) {
    if (worker->facts.removed) {
      map->upstreams.push_back(nullptr);
      continue;
    }
    map->upstreams.push_back(worker->upstream);
    map->undiscovered = map->undiscovered || !worker->discovered;
    for (const auto& card : worker->cards) {
      const auto id = model_ids_.find(card.id);
      if (id == model_ids_.end()) continue;
      wanted[id->second.value] = true;
      if (card.max_model_len) map->max_model_len[id->second.value] = card.max_model_len->value();
    }
  }
  for (std::size_t i = 0; i < served_.size(); ++i) {
    const ModelId id{static_cast<std::uint32_t>(i)};
    map->timeouts.push_back(settings_.timeouts);
    for (const auto& model : settings_.models) {
      if (model.name == served_[i]) map->timeouts.back() = model.timeouts;
    }
    if (!wanted[i]) continue;  // served once, by nobody now, and not configured
    map->served.push_back({id, served_[i], false});
    map->names.emplace(served_[i], map->served.back());
  }
  for (const auto& model : settings_.models) {
    for (const auto& alias : model.aliases)
      map->names.emplace(alias, ModelName{model_ids_.at(model.name), model.name, true});
  }
  map_ = map;
  publish_(std::move(map));
}

}  // namespace evenkeel::gateway
