#include "gateway/fleet_control.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/load.hpp"

namespace evenkeel::gateway {

FleetControl::FleetControl(const config::ServeSettings& settings, http::EventLoop& loop,
                           dispatch::Dispatcher& dispatcher, Breakers& breakers, RankMarks& marks,
                           KvSubscriber& kv_events, Publish publish)
    : settings_(settings),
      loop_(loop),
      dispatcher_(dispatcher),
      breakers_(breakers),
      marks_(marks),
      kv_events_(kv_events),
      publish_(std::move(publish)) {
  for (const auto& model : settings_.models) (void)model_id(model.name);
  rebuild_map();
}

ModelId FleetControl::model_id(const std::string& served) {
  const auto [at, fresh] = model_ids_.try_emplace(served, ModelId{static_cast<std::uint32_t>(served_.size())});
  if (fresh) served_.push_back(served);
  return at->second;
}

ModelId FleetControl::dispatched_id(const Engine& engine, const std::string& served) {
  const ModelId whole = model_id(served);
  if (engine.role == fleet::Role::both) return whole;
  const ModelId set = prefill_set(whole);  // those that only decode may need one, though nobody is in it yet
  return engine.role == fleet::Role::prefill ? set : whole;
}

ModelId FleetControl::prefill_set(ModelId whole) {
  const auto [at, fresh] = prefill_ids_.try_emplace(whole, ModelId{static_cast<std::uint32_t>(served_.size())});
  if (fresh) served_.emplace_back();  // no client can call it
  return at->second;
}

FleetControl::EnginePtr FleetControl::engine_named(std::string_view name) const {
  const auto at = numbers_.find(name);
  return at == numbers_.end() ? nullptr : engines_[at->second];
}

std::pair<FleetControl::EnginePtr, std::vector<FleetControl::Worker*>> FleetControl::named(
    std::string_view name) const {
  std::vector<Worker*> workers;
  if (EnginePtr engine = engine_named(name)) {
    for (Worker& worker : engine->workers) workers.push_back(&worker);
    return {std::move(engine), workers};
  }
  EnginePtr engine = engine_named(name.substr(0, name.rfind('@')));
  if (engine == nullptr) return {};
  for (Worker& worker : engine->workers) {
    if (worker.name == name) return {std::move(engine), {&worker}};
  }
  return {};
}

Result<std::string> FleetControl::add(const config::WorkerSetting& setting) {
  const auto url = http::parse_url(setting.url);
  if (!url) return tl::unexpected(url.error());
  const auto key = config::api_key(setting);
  if (!key) return tl::unexpected(key.error());
  auto calibration = config::calibration(setting);
  if (!calibration) return tl::unexpected(calibration.error());
  const auto kind = engines::kind_named(setting.engine);
  auto engine = std::make_shared<Engine>();
  engine->name = setting.name.empty() ? url->authority() : setting.name;
  if (engine_named(engine->name) != nullptr) return failure(fmt::format("{}named \"{}\" already", taken, engine->name));
  for (const EnginePtr& other : engines_) {
    if (other == nullptr || other->url.authority() != url->authority() || other->url.base_path != url->base_path)
      continue;
    return failure(fmt::format("{}with this url already: \"{}\"", taken, other->name));
  }
  for (const config::PeerSetting& peer : settings_.peers) {
    const auto at = http::parse_url(peer.url);
    const bool same = at && at->authority() == url->authority() && at->base_path == url->base_path;
    if (peer.name != engine->name && !same) continue;
    return failure(fmt::format("{}that is a peer already: \"{}\"", taken, peer.name));
  }
  const auto next = static_cast<std::uint32_t>(engines_.size());
  engine->number = numbers_.try_emplace(engine->name, next).first->second;
  if (engine->number == next) engines_.emplace_back();
  engines_[engine->number] = engine;

  engine->setting = setting;
  engine->role = fleet::role_named(setting.role).value_or(fleet::Role::both);
  engine->part_known = setting.bootstrap_port > 0;
  if (engine->part_known) engine->bootstrap_port = static_cast<std::uint16_t>(setting.bootstrap_port);
  engine->url = *url;
  engine->calibration = std::move(*calibration);
  engine->authorization = key->empty() ? "" : "Bearer " + *key;
  engine->kind_known = kind.has_value();
  engine->adapter = &engines::adapter(kind.value_or(engines::Kind::openai));
  const std::int64_t declared = setting.ranks > 0 ? setting.ranks : settings_.ranks;
  engine->ranks_declared = declared > 0;
  engine->ranks = static_cast<std::size_t>(declared);
  find_address(*engine);
  apply_ranks(*engine);
  if (!setting.models.empty()) {
    std::vector<engines::ModelCard> cards;
    for (const auto& model : setting.models) cards.push_back({model, std::nullopt});
    take_models(*engine, std::move(cards));
  }
  rebuild_map();
  engine->fiber = &loop_.spawn(
      [](http::Fiber& fiber, FleetControl* self, EnginePtr of) { return self->watch(fiber, std::move(of)); }, this,
      engine);
  return engine->name;
}

bool FleetControl::remove(std::string_view name) {
  auto [engine, workers] = named(name);
  if (engine == nullptr) return false;
  for (Worker* worker : workers) {
    breakers_.set_draining(worker->id, true);
    drop_cache(*worker);
    leave_kv_events(*worker);
  }
  if (workers.size() < engine->workers.size()) {
    engine->dropped.insert(*workers.front()->rank);
    std::erase_if(engine->workers, [&](const Worker& worker) { return worker.name == name; });
  } else {
    engine->stopped = true;
    if (engine->fiber != nullptr) engine->fiber->wake();
    engines_[engine->number] = nullptr;
    marks_.forget(engine->name);
  }
  rebuild_map();
  return true;
}

bool FleetControl::drain(std::string_view name) {
  const auto [engine, workers] = named(name);
  for (const Worker* worker : workers) breakers_.set_draining(worker->id, false);
  if (engine != nullptr && engine->name == name) engine->draining = true;
  return engine != nullptr;
}

bool FleetControl::activate(std::string_view name) {
  const auto [engine, workers] = named(name);
  for (const Worker* worker : workers) breakers_.set_active(worker->id);
  if (engine != nullptr && engine->name == name) engine->draining = false;
  return engine != nullptr;
}

bool FleetControl::set_max_in_flight(std::string_view name, std::int64_t limit) {
  const auto [engine, workers] = named(name);
  for (Worker* worker : workers) {
    worker->limit.give(limit);
    dispatcher_.set_max_in_flight(worker->id, limit);
  }
  if (engine != nullptr && engine->name == name) engine->setting.max_in_flight = limit;  // of ranks to come, too
  return engine != nullptr;
}

std::optional<FleetControl::WorkerFacts> FleetControl::facts(WorkerId id) const {
  if (const auto lent = lent_.find(id); lent != lent_.end()) return facts_of(lent->second);
  if (id.value >= places_.size() || places_[id.value].engine == nullptr) return std::nullopt;
  const auto& [engine, rank] = places_[id.value];
  WorkerFacts facts{
      engine->name,
      engine->setting.url,
      engine->kind_known ? std::string(engine->adapter->name()) : "unknown",
      rank,
      group_of(*engine, rank.has_value()),
      engine->role,
      engine->meets() && engine->role == fleet::Role::prefill ? std::optional(engine->bootstrap_port) : std::nullopt,
      engine->rank_honoured,
      engine->models,
      engine->last_error};
  facts.calibration = calibration_facts(*engine);
  for (const Worker& worker : engine->workers) {
    if (worker.id != id) continue;
    if (facts.last_error.empty()) facts.last_error = worker.complaint;
    if (worker.kv_feed) facts.kv_events = worker.kv_feed->status(loop_.now());
  }
  return facts;
}

void FleetControl::stop() {
  for (const auto& engine : engines_) {
    if (engine == nullptr) continue;
    engine->stopped = true;
    if (engine->fiber != nullptr) engine->fiber->wake();
  }
}

void FleetControl::rebuild_map() {
  auto map = std::make_shared<FleetMap>();
  map->upstreams.resize(places_.size());
  map->max_model_len.resize(served_.size(), 0);
  map->splitting.resize(served_.size());
  map->adapter.resize(served_.size(), false);
  std::vector<bool> wanted(served_.size(), false);
  add_lent(*map, wanted);
  for (const auto& model : settings_.models) wanted[model_ids_.at(model.name).value] = true;
  for (const auto& engine : engines_) {
    if (engine == nullptr) continue;
    for (const Worker& worker : engine->workers) {
      map->upstreams[worker.id.value] = worker.upstream;
      map->prefix_caches = map->prefix_caches || worker.cache_blocks > 0;
      map->tells_kv = map->tells_kv || worker.kv_feed != nullptr;
    }
    map->undiscovered = map->undiscovered || !engine->discovered;
    const bool splits = (engine->role == fleet::Role::prefill || engine->meets()) && at_odds_with(*engine) == nullptr;
    for (const auto& card : engine->cards) {
      const auto id = model_ids_.find(card.id);
      if (id == model_ids_.end()) continue;
      wanted[id->second.value] = true;
      map->adapter[id->second.value] = map->adapter[id->second.value] || card.adapter;
      const auto set = prefill_ids_.find(id->second);
      if (splits && set != prefill_ids_.end()) map->splitting[id->second.value] = {set->second, engine->meets()};
      if (card.max_model_len) map->max_model_len[id->second.value] = card.max_model_len->value();
    }
  }
  for (std::size_t i = 0; i < served_.size(); ++i) {
    const ModelId id{static_cast<std::uint32_t>(i)};
    map->timeouts.push_back(settings_.timeouts);
    bool never_shed = false;
    for (const auto& model : settings_.models) {
      if (model.name != served_[i]) continue;
      map->timeouts.back() = model.timeouts;
      never_shed = model.never_shed;
    }
    if (!wanted[i]) continue;  // served once, by nobody now, and not configured
    map->served.push_back({id, served_[i], false, never_shed});
    map->names.emplace(served_[i], map->served.back());
  }
  for (const auto& model : settings_.models) {
    for (const auto& alias : model.aliases)
      map->names.emplace(alias, ModelName{model_ids_.at(model.name), model.name, true, model.never_shed});
  }
  map_ = map;
  publish_(std::move(map));
}

}  // namespace evenkeel::gateway
