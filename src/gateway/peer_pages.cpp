#include "gateway/peer_pages.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>

namespace evenkeel::gateway {

namespace json = boost::json;

namespace {

json::value text_or_unknown(const std::string& text) {
  return text.empty() ? json::value("unknown") : json::value(text);
}

template <class T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::object print_json(const peers::Fingerprint& print) {
  return {{"served_id", text_or_unknown(print.served_id)},
          {"max_model_len", or_null(print.max_model_len)},
          {"runtime", text_or_unknown(print.runtime)},
          {"quantization", text_or_unknown(print.quantization)},
          {"kv_cache_dtype", text_or_unknown(print.kv_cache_dtype)},
          {"reasoning_parser", text_or_unknown(print.reasoning_parser)},
          {"tool_parser", text_or_unknown(print.tool_parser)},
          {"speculative_config", text_or_unknown(print.speculative_config)}};
}

/// The name under which gateways of the lobes kind look for what serves a model.
const std::string& backend_of(const HostedModel& model) {
  return model.aliases.empty() ? model.served : model.aliases.front();
}

struct Load {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
};

/// `requests` at something that serves `slots` at once: who is beyond them waits.
Load split(double requests, std::int64_t slots) {
  const auto all = static_cast<std::int64_t>(std::llround(std::max(0.0, requests)));
  const std::int64_t running = slots > 0 ? std::min(all, slots) : all;
  return {running, all - running};
}

Load load_of(const dispatch::Lane& lane) {
  return split(static_cast<double>(lane.in_flight) + lane.foreign_requests, lane.slots);
}

bool publishes(const RouterFacts& facts, const RouterFacts::Served& served) {
  return facts.publishes_capacity && served.model.slots_known && served.lane.slots > 0;
}

json::array rates_json(const std::vector<fleet::RatePoint>& points) {
  json::array all;
  for (const fleet::RatePoint& point : points) all.push_back(json::array{point.level, point.rate});
  return all;
}

json::object own_row(const RouterFacts& facts, const RouterFacts::Served& served) {
  json::object row = {{"model", served.model.served},
                      {"backend", backend_of(served.model)},
                      {"ready", served.lane.routable && !facts.sheds},
                      {"active", load_of(served.lane).running + load_of(served.lane).waiting},
                      {"waiting", served.lane.waiting},
                      {"queue_tokens", served.lane.waiting_tokens.value()},
                      {"fingerprint", print_json(served.model.fingerprint)},
                      {"rates", rates_json(served.rates)},
                      {"rates_at_ms", std::max(served.model.since_ms, served.model.measured_at_ms.value_or(0))}};
  if (publishes(facts, served)) {
    row["slots"] = served.lane.slots;
    if (served.model.measured_at_ms) row["measured_at_ms"] = *served.model.measured_at_ms;
  }
  if (served.load) {
    const peers::News& news = served.load->news;
    row["news"] = {{"epoch", news.epoch}, {"seq", news.sequence}, {"active", news.active}, {"yours", news.yours}};
  }
  return row;
}

json::object backend_row(const RouterFacts& facts, const RouterFacts::Served& served) {
  const Load load = load_of(served.lane);
  json::object metrics = {{"running", load.running},
                          {"waiting", load.waiting},
                          {"prompt_tokens", served.lane.prefilled_ever},
                          {"generation_tokens", served.lane.generated_ever}};
  if (served.lane.kv_capacity > Tokens()) {
    metrics["kv_cache_usage"] = std::min(1.0, served.lane.kv_tokens.as_double() / served.lane.kv_capacity.as_double());
  }
  json::object row = {{"name", backend_of(served.model)},
                      {"task", "generate"},
                      {"served_name", served.model.served},
                      {"health", served.lane.routable ? "ok" : "unreachable"},
                      {"metrics", std::move(metrics)}};
  if (publishes(facts, served)) row["capacity"] = served.lane.slots;
  return row;
}

json::object replica_here(const RouterFacts& facts, const RouterFacts::Served& served) {
  const Load load = load_of(served.lane);
  const bool known = publishes(facts, served);
  return {{"origin", facts.self.name},
          {"local", true},
          {"ready", served.lane.routable},
          {"busy", facts.sheds},
          {"running", load.running},
          {"waiting", load.waiting},
          {"compatible", true},
          {"reason", facts.sheds ? "it takes nothing on: pressure" : ""},
          {"fingerprint", print_json(served.model.fingerprint)},
          {"weight", served.lane.slots},
          {"capacity", known ? json::value(served.lane.slots) : json::value(nullptr)},
          {"calibrated", known}};
}

/// A capacity as the peer claims it: a number where it is one.
json::value claimed(const std::optional<std::string>& capacity) {
  if (!capacity) return nullptr;
  boost::system::error_code code;
  json::value value = json::parse(*capacity, code);
  return !code && value.is_number() ? value : json::value(*capacity);
}

json::object replica_there(const ReplicaFacts& facts, const PeerBoard::Row& row, const peers::Fingerprint* ours) {
  const peers::Compatibility fits =
      ours != nullptr ? peers::compare(*ours, row.fingerprint) : peers::Compatibility{row.share.usable, {}};
  const Load load = split(static_cast<double>(row.open) + row.share.foreign, row.share.slots);
  return {{"origin", facts.origins[row.peer.value]},
          {"local", false},
          {"ready", row.ready && row.share.usable},
          {"busy", row.share.usable && load.running >= row.share.slots},
          {"running", load.running},
          {"waiting", load.waiting},
          {"compatible", fits.compatible},
          {"reason", row.share.why_not.empty() ? row.capacity_note : row.share.why_not},
          {"fingerprint", print_json(row.fingerprint)},
          {"weight", row.share.slots},
          {"capacity", claimed(row.capacity)},
          {"calibrated", row.capacity.has_value() && row.capacity_note.empty()}};
}

json::object role_json(const std::string& role, const std::string& served, const peers::Fingerprint& print,
                       bool ready) {
  const std::optional<std::string> speculation =
      print.speculative_config.empty() ? std::nullopt : std::optional(print.speculative_config);
  return {{"role", role},
          {"model", served},
          {"runtime", text_or_unknown(print.runtime)},
          {"endpoint", nullptr},
          {"path", "/v1/chat/completions"},
          {"context", or_null(print.max_model_len)},
          {"quant", text_or_unknown(print.quantization)},
          {"mtp", or_null(speculation)},
          {"tools", !print.tool_parser.empty()},
          {"responsibilities", json::array()},
          {"forbidden_responsibilities", json::array()},
          {"feasible", true},
          {"ready", ready},
          {"loaded", ready}};
}

json::array replicas_of(const ReplicaFacts& facts, ModelId model, const RouterFacts::Served* here) {
  json::array all;
  if (here != nullptr) all.push_back(replica_here(facts.here, *here));
  for (const PeerBoard::Row& row : facts.rows) {
    if (row.model == model) all.push_back(replica_there(facts, row, here ? &here->model.fingerprint : nullptr));
  }
  return all;
}

}  // namespace

std::string status_page(const RouterFacts& facts) {
  json::array backends, models;
  Load busy;
  for (const RouterFacts::Served& served : facts.served) {
    const Load load = load_of(served.lane);
    busy.running += load.running;
    busy.waiting += load.waiting;
    backends.push_back(backend_row(facts, served));
    models.push_back(own_row(facts, served));
  }
  json::object page = {
      {"object", "lobes.fleet_status"},
      {"default_model",
       facts.served.size() == 1 ? json::value(facts.served.front().model.served) : json::value(nullptr)},
      {"busy", {{"running", busy.running}, {"waiting", busy.waiting}}},
      {"backends", std::move(backends)},
      {"endpoints",
       {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v1/score", "/v1/models"}}};
  if (facts.pressure) {
    page["pressure"] = {{"mode", facts.pressure->mode},
                        {"shed", facts.pressure->shed},
                        {"reason", facts.pressure->reason},
                        {"swap_used_percent", or_null(facts.pressure->swap_used_percent)},
                        {"iowait_percent", or_null(facts.pressure->iowait_percent)}};
  }
  page["evenkeel"] = {{"version", EVENKEEL_VERSION}, {"name", facts.self.name},       {"instance", facts.self.instance},
                      {"epoch", facts.self.epoch},   {"sampled_at_ms", facts.now_ms}, {"models", std::move(models)}};
  return json::serialize(page);
}

std::string capabilities_page(const ReplicaFacts& facts) {
  json::object roles;
  for (const RouterFacts::Served& served : facts.here.served) {
    const HostedModel& model = served.model;
    const std::vector<std::string> names = model.aliases.empty() ? std::vector{model.served} : model.aliases;
    for (const std::string& name : names) {
      json::object role = role_json(name, model.served, model.fingerprint, served.lane.routable);
      role["fingerprint"] = print_json(model.fingerprint);
      role["replicas"] = replicas_of(facts, model.model, &served);
      roles[name] = std::move(role);
    }
  }
  for (std::size_t i = 0; i < facts.rows.size(); ++i) {
    const PeerBoard::Row& row = facts.rows[i];
    const bool here = std::any_of(facts.here.served.begin(), facts.here.served.end(),
                                  [&](const auto& served) { return served.model.model == row.model; });
    if (here || !row.listed) continue;
    const auto& aliases = facts.aliases[i];
    for (const std::string& name : aliases.empty() ? std::vector{row.served} : aliases) {
      if (roles.contains(name)) continue;
      bool ready = false;
      peers::Fingerprint print = row.fingerprint;
      for (const PeerBoard::Row& other : facts.rows) {
        if (other.model != row.model || !other.share.usable) continue;
        if (!ready) print = other.fingerprint;
        ready = true;
      }
      json::object role = role_json(name, row.served, print, ready);
      role["proxied"] = true;
      role["replicas"] = replicas_of(facts, row.model, nullptr);
      roles[name] = std::move(role);
    }
  }
  return json::serialize(json::object{{"object", "lobes.capabilities"}, {"roles", std::move(roles)}});
}

}  // namespace evenkeel::gateway
