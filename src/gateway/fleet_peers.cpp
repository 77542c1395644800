// The fleet as peers see it, and peers as the fleet's shards see them.
#include <algorithm>

#include "gateway/fleet_control.hpp"

namespace evenkeel::gateway {

peers::Fingerprint FleetControl::declared_of(const std::string& served) const {
  peers::Fingerprint print;
  print.served_id = served;
  print.quantization = settings_.peer_options.quantization;
  for (const auto& model : settings_.models) {
    if (model.name != served) continue;
    if (!model.quantization.empty()) print.quantization = model.quantization;
    print.runtime = peers::canonical_runtime(model.runtime);
    print.kv_cache_dtype = model.kv_cache_dtype;
    print.reasoning_parser = model.reasoning_parser;
    print.tool_parser = model.tool_parser;
    print.speculative_config = model.speculative_config;
  }
  return print;
}

FleetControl::WorkerFacts FleetControl::facts_of(const Lent& lent) const {
  WorkerFacts facts;
  facts.engine = lent.upstream->name;
  facts.url = lent.upstream->peer->origin;
  facts.kind = lent.upstream->peer->evenkeel ? "evenkeel" : "lobes";
  facts.models = {served_[lent.model.value]};
  return facts;
}

std::vector<HostedModel> FleetControl::hosted() const {
  std::vector<HostedModel> all;
  for (const auto& engine : engines_) {
    if (engine == nullptr || engine->role == fleet::Role::prefill) continue;
    const bool slots_known = std::all_of(engine->workers.begin(), engine->workers.end(),
                                         [](const Worker& worker) { return worker.limit.known(); });
    // A server of which nothing but its protocol is known may be anything.
    const bool kind_known = engine->kind_known && engine->adapter->kind() != engines::Kind::openai;
    const std::string kind = kind_known ? peers::canonical_runtime(engine->adapter->name()) : std::string();
    std::optional<std::int64_t> measured_at_ms;
    if (engine->calibration && engine->calibration_fault.empty()) {
      measured_at_ms = engine->calibration->measured_at_ms;
    }
    for (const auto& card : engine->cards) {
      const auto id = model_ids_.find(card.id);
      if (id == model_ids_.end()) continue;
      std::optional<std::int64_t> window;
      if (card.max_model_len) window = card.max_model_len->value();
      const auto before =
          std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.model == id->second; });
      if (before == all.end()) {
        HostedModel& model = all.emplace_back();
        model.model = id->second;
        model.served = card.id;
        model.fingerprint = declared_of(card.id);
        model.fingerprint.max_model_len = window;
        if (model.fingerprint.runtime.empty()) model.fingerprint.runtime = kind;
        model.slots_known = slots_known;
        model.measured_at_ms = measured_at_ms;
        for (const auto& setting : settings_.models) {
          if (setting.name == card.id) model.aliases = setting.aliases;
        }
        continue;
      }
      if (before->fingerprint.max_model_len != window) before->fingerprint.max_model_len.reset();
      const bool runtime_declared = !declared_of(card.id).runtime.empty();
      if (!runtime_declared && before->fingerprint.runtime != kind) before->fingerprint.runtime.clear();
      before->slots_known = before->slots_known && slots_known;
      const bool both = before->measured_at_ms && measured_at_ms;
      before->measured_at_ms = both ? std::max(before->measured_at_ms, measured_at_ms) : std::nullopt;
    }
  }
  return all;
}

void FleetControl::lend(Upstream upstream, const std::string& served, std::int64_t max_model_len) {
  // No worker's name has a blank in it.
  const auto next = static_cast<std::uint32_t>(engines_.size());
  upstream.engine = numbers_.try_emplace("peer " + upstream.name, next).first->second;
  if (upstream.engine == next) engines_.emplace_back();
  Lent& lent = lent_[upstream.id];
  lent.upstream = std::make_shared<const Upstream>(std::move(upstream));
  lent.model = model_id(served);
  lent.max_model_len = max_model_len;
  rebuild_map();
}

void FleetControl::list_lent(WorkerId worker, bool listed) {
  const auto at = lent_.find(worker);
  if (at == lent_.end() || at->second.listed == listed) return;
  at->second.listed = listed;
  rebuild_map();
}

void FleetControl::add_lent(FleetMap& map, std::vector<bool>& wanted) const {
  for (const auto& [worker, lent] : lent_) {
    if (map.upstreams.size() <= worker.value) map.upstreams.resize(worker.value + 1);
    map.upstreams[worker.value] = lent.upstream;
    if (!lent.listed) continue;
    wanted[lent.model.value] = true;
    map.max_model_len[lent.model.value] = lent.max_model_len;  // an engine of our own says its own after this
  }
}

}  // namespace evenkeel::gateway
