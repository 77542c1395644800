// Asking engines: whether they live, of what kind they are, which models they serve, what they report.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "gateway/fleet_control.hpp"

namespace evenkeel::gateway {

namespace {

constexpr std::size_t answer_limit = 8U << 20U;
constexpr Duration models_every = std::chrono::seconds(10);

}  // namespace

http::Task<void> FleetControl::watch(http::Fiber& fiber, EnginePtr engine) {
  while (!engine->stopped) {
    const Time begun = fiber.loop().now();
    co_await probe(fiber, *engine);
    const Time next = begun + settings_.health.interval;
    fiber.set_deadline(next);
    while (!engine->stopped && fiber.loop().now() < next) co_await fiber.wait();
  }
  engine->fiber = nullptr;
}

http::Task<http::FetchResult> FleetControl::get(http::Fiber& fiber, Engine& engine, std::string_view path) {
  http::ClientRequest request;
  request.path = engine.url.base_path + std::string(path);
  request.host = engine.url.authority();
  request.fields.emplace_back("User-Agent", "evenkeel");
  if (!engine.authorization.empty()) request.fields.emplace_back("Authorization", engine.authorization);
  const Time deadline = fiber.loop().now() + settings_.health.timeout;
  co_return co_await http::fetch(fiber, engine.address, std::move(request), deadline, answer_limit,
                                 &engine.connections);
}

void FleetControl::note_bad_probe(Engine& engine) {
  breakers_.probed(engine.workers.front().id, false);
  if (++engine.bad_probes < settings_.health.fall) return;
  for (Worker& worker : engine.workers) worker.cache.unreachable();
  // What comes back may be another version with another number of ranks.
  if (!engine.ranks_declared) engine.ranks = 0;
  engine.other_ranks = 0;
  engine.ignores_rank = false;
  engine.judge = RankJudge();
  engine.part_known = engine.setting.bootstrap_port > 0;
}

http::Task<void> FleetControl::probe(http::Fiber& fiber, Engine& engine) {
  if (engine.address.size() == 0) {
    find_address(engine);
    if (engine.address.size() == 0) co_return;
    renew_upstreams(engine);
  }
  if (!engine.kind_known) co_await discover_kind(fiber, engine);
  if (engine.stopped) co_return;
  if (!can_have_role(engine)) co_return note_bad_probe(engine);
  const auto health = co_await get(fiber, engine, engine.adapter->health_path());
  const bool good = health.status == http::ClientStatus::ok && health.code >= 200 && health.code < 300;
  if (engine.stopped) co_return;
  if (!good) {
    engine.last_error = health.status == http::ClientStatus::ok
                            ? fmt::format("{} answered {}", engine.adapter->health_path(), health.code)
                            : std::string(http::to_string(health.status));
    co_return note_bad_probe(engine);
  }
  engine.last_error.clear();
  if (engine.models_read == Time::min() || fiber.loop().now() - engine.models_read >= models_every) {
    const bool read = co_await read_models(fiber, engine);
    if (engine.stopped) co_return;
    if (!read && !engine.discovered) co_return note_bad_probe(engine);  // nothing could be sent to it
  }
  const bool part = co_await read_part(fiber, engine);
  if (engine.stopped) co_return;
  if (!part || !fits_others(engine)) co_return note_bad_probe(engine);
  // Before anything is sent to it, its ranks must be known, as far as it tells them.
  const bool first = engine.bad_probes > 0 || engine.ranks == 0;
  if (first) co_await scrape(fiber, engine);
  if (engine.stopped) co_return;
  engine.bad_probes = 0;
  apply_ranks(engine);
  follow_calibration(engine);
  follow_kv_events(engine);
  breakers_.probed(engine.workers.front().id, true);
  if (!first) co_await scrape(fiber, engine);
  if (!engine.stopped) note_served(engine);
}

/// Nothing is sent to an engine that would take no part in a hand-over.
bool FleetControl::can_have_role(Engine& engine) {
  if (engine.role == fleet::Role::both) return true;
  if (!engine.kind_known) {
    engine.last_error = "it has not told yet of which kind it is";
    return false;
  }
  if (engine.adapter->kind() == engines::Kind::vllm || engine.meets()) return true;
  engine.last_error = fmt::format("role {} is possible with vLLM's NIXL connector and with SGLang only, and this is {}",
                                  fleet::to_string(engine.role), engine.adapter->name());
  if (!std::exchange(engine.role_refused, true)) spdlog::error("worker {}: {}", engine.name, engine.last_error);
  engine.kind_known = false;  // what comes back may be another engine
  return false;
}

bool FleetControl::Engine::meets() const {
  return role != fleet::Role::both && adapter->kind() == engines::Kind::sglang;
}

/// Of a model whose two legs meet in the engines, every worker must take part in it: another would leave who comes to
/// meet it waiting. Who came first stays; the one that `engine` does not go with, or null.
FleetControl::EnginePtr FleetControl::at_odds_with(const Engine& engine) const {
  const auto shares_model = [&](const Engine& other) {
    return std::any_of(engine.models.begin(), engine.models.end(), [&](const std::string& model) {
      return std::find(other.models.begin(), other.models.end(), model) != other.models.end();
    });
  };
  const auto at = std::find_if(engines_.begin(), engines_.end(), [&](const EnginePtr& other) {
    return other != nullptr && other->number < engine.number && other->kind_known && engine.meets() != other->meets() &&
           shares_model(*other);
  });
  return at == engines_.end() ? nullptr : *at;
}

bool FleetControl::fits_others(Engine& engine) const {
  const EnginePtr other = at_odds_with(engine);
  if (other == nullptr) return true;
  engine.last_error = fmt::format(
      "it is {} with role {}, and \"{}\" of the same model is {} with role {}: where SGLang's engines prefill and "
      "decode "
      "apart, a model has no other workers",
      engine.adapter->name(), fleet::to_string(engine.role), other->name, other->adapter->name(),
      fleet::to_string(other->role));
  return false;
}

/// Asks an SGLang prefill engine once where decode engines meet it. False if it says that it is none.
http::Task<bool> FleetControl::read_part(http::Fiber& fiber, Engine& engine) {
  if (engine.part_known || !engine.meets() || engine.role != fleet::Role::prefill) co_return true;
  std::optional<engines::DisaggregationInfo> told;
  for (const std::string_view page : {std::string_view("/server_info"), std::string_view("/get_server_info")}) {
    const auto answer = co_await get(fiber, engine, page);
    if (engine.stopped) co_return false;
    if (answer.status == http::ClientStatus::ok && answer.code == 200) told = engines::read_disaggregation(answer.body);
    if (told) break;
  }
  if (told && told->mode != "prefill") {
    engine.last_error = fmt::format("its role is prefill, and its --disaggregation-mode is {}", told->mode);
    co_return false;
  }
  engine.part_known = true;
  engine.bootstrap_port = told ? told->bootstrap_port : engines::default_bootstrap_port;
  spdlog::info("worker {}: decode workers meet it at port {}{}", engine.name, engine.bootstrap_port,
               told ? "" : ", the default, as it does not tell; else say bootstrap_port");
  renew_upstreams(engine);
  co_return true;
}

http::Task<void> FleetControl::discover_kind(http::Fiber& fiber, Engine& engine) {
  engines::DetectionInput input;
  auto models = co_await get(fiber, engine, "/v1/models");
  if (models.status != http::ClientStatus::ok) co_return;  // not there yet: ask again next time
  if (models.code == 200) input.models_body = std::move(models.body);
  auto metrics = co_await get(fiber, engine, "/metrics");
  if (metrics.status == http::ClientStatus::ok && metrics.code == 200) input.metrics_body = std::move(metrics.body);
  auto props = co_await get(fiber, engine, "/props");
  if (props.status == http::ClientStatus::ok && props.code == 200) input.props_body = std::move(props.body);
  auto info = co_await get(fiber, engine, "/info");
  if (info.status == http::ClientStatus::ok && info.code == 200) input.info_body = std::move(info.body);
  if (engine.stopped) co_return;
  engine.adapter = &engines::adapter(engines::detect(input));
  engine.kind_known = true;
  for (Worker& worker : engine.workers) {
    worker.limit.assume(engine.adapter->default_max_in_flight());
    dispatcher_.set_max_in_flight(worker.id, worker.limit.value());
  }
  spdlog::info("worker {} is {}; at most {} requests in flight", engine.name, engine.adapter->name(),
               engine.workers.front().limit.value());
  if (engine.ranks_declared && engine.ranks > 1 && engine.adapter->rank_field().empty()) {
    spdlog::warn(
        "worker {} was given {} ranks, but {} has none that requests can be sent to: it is one worker. If something in "
        "front of it hides its kind, say engine = \"vllm\" or \"sglang\"",
        engine.name, engine.ranks, engine.adapter->name());
  }
  renew_upstreams(engine);
}

http::Task<bool> FleetControl::read_models(http::Fiber& fiber, Engine& engine) {
  if (!engine.setting.models.empty()) {
    co_await read_version(fiber, engine);
    engine.models_read = fiber.loop().now();
    if (!settings_.peers.empty()) co_await read_windows(fiber, engine);
    co_return true;
  }
  const auto answer = co_await get(fiber, engine, "/v1/models");
  if (answer.status != http::ClientStatus::ok || answer.code != 200) {
    engine.last_error = fmt::format("/v1/models: {}", answer.status == http::ClientStatus::ok
                                                          ? std::to_string(answer.code)
                                                          : std::string(http::to_string(answer.status)));
    co_return false;
  }
  auto cards = engines::read_models(answer.body);
  if (!cards || cards->empty()) {
    engine.last_error = cards ? "/v1/models lists no model" : cards.error().message;
    co_return false;
  }
  co_await read_version(fiber, engine);
  if (engine.stopped) co_return false;
  engine.models_read = fiber.loop().now();
  take_models(engine, std::move(*cards));
  co_return true;
}

http::Task<void> FleetControl::read_windows(http::Fiber& fiber, Engine& engine) {
  const auto answer = co_await get(fiber, engine, "/v1/models");
  if (engine.stopped || answer.status != http::ClientStatus::ok || answer.code != 200) co_return;
  const auto cards = engines::read_models(answer.body);
  if (!cards) co_return;
  std::vector<engines::ModelCard> known = engine.cards;
  for (engines::ModelCard& card : known) {
    const auto told = std::find_if(cards->begin(), cards->end(), [&](const auto& one) { return one.id == card.id; });
    if (told != cards->end()) card.max_model_len = told->max_model_len;
  }
  take_models(engine, std::move(known));
}

void FleetControl::take_models(Engine& engine, std::vector<engines::ModelCard> cards) {
  std::vector<ModelId> ids;
  std::vector<std::string> names;
  for (const auto& card : cards) {
    if (ids.size() >= 1024 || served_.size() >= 65536) break;  // an engine cannot grow us without bound
    ids.push_back(dispatched_id(engine, card.id));
    names.push_back(card.id);
  }
  const auto same_window = [](const auto& a, const auto& b) { return a.max_model_len == b.max_model_len; };
  const bool changed = !engine.discovered || names != engine.models ||
                       !std::equal(cards.begin(), cards.end(), engine.cards.begin(), engine.cards.end(), same_window);
  engine.discovered = true;
  engine.cards = std::move(cards);
  if (!changed) return;
  engine.models = std::move(names);
  for (const Worker& worker : engine.workers) dispatcher_.set_models(worker.id, ids);
  rebuild_map();
}

http::Task<void> FleetControl::scrape(http::Fiber& fiber, Engine& engine) {
  const auto scrapes = engine.adapter->scrapes();
  if (scrapes.empty()) {
    if (engine.ranks == 0) engine.ranks = 1;
    for (Worker& worker : engine.workers) follow_cache(engine, worker, {});
    co_return;
  }
  std::vector<std::string> bodies;
  const Time asked = fiber.loop().now();
  for (const auto& what : scrapes) {
    auto answer = co_await get(fiber, engine, what.path);
    bodies.push_back(answer.status == http::ClientStatus::ok && answer.code == 200 ? std::move(answer.body)
                                                                                   : std::string());
  }
  if (engine.stopped) co_return;
  take_reading(engine, engine.adapter->read(bodies), asked, fiber.loop().now());
}

}  // namespace evenkeel::gateway
