#include "emulator/state_page.hpp"

#include <boost/json.hpp>

namespace evenkeel::emulator {
namespace {

namespace json = boost::json;

json::object object_of(const Measured& m) {
  return {{"window_s", m.window_s},
          {"steps", m.steps},
          {"step_ms", m.step_ms},
          {"mean_imbalance", m.mean_imbalance},
          {"idle", m.idle},
          {"mean_load", m.mean_load},
          {"occupancy", m.occupancy},
          {"tokens", m.tokens},
          {"throughput", m.throughput},
          {"requests", m.requests},
          {"tpot_p50_ms", m.tpot_p50_ms},
          {"tpot_p95_ms", m.tpot_p95_ms},
          {"tpot_p99_ms", m.tpot_p99_ms},
          {"late_steps", m.late_steps},
          {"longest_lag_ms", m.longest_lag_ms}};
}

json::object object_of(const KvHandoff& handoff, const Bootstrap& bootstrap, std::int64_t kept_blocks) {
  KvCounters sum;
  for (const KvCounters& rank : handoff.counters()) {
    sum.opened += rank.opened;
    sum.pulled += rank.pulled;
    sum.declined += rank.declined;
    sum.expired += rank.expired;
    sum.reused += rank.reused;
    sum.loaded += rank.loaded;
    sum.loaded_tokens += rank.loaded_tokens;
    sum.recomputed += rank.recomputed;
    sum.garbled += rank.garbled;
    sum.failed += rank.failed;
  }
  return {{"leases_open", handoff.open_leases()},
          {"leases_opened", sum.opened},
          {"pulled", sum.pulled},
          {"declined", sum.declined},
          {"expired", sum.expired},
          {"reused", sum.reused},
          {"renewed", handoff.renewed()},
          {"kept_blocks", kept_blocks},
          {"loaded", sum.loaded},
          {"loaded_tokens", sum.loaded_tokens.value()},
          {"recomputed", sum.recomputed},
          {"garbled", sum.garbled},
          {"failed", sum.failed},
          {"rooms_open", bootstrap.rooms()},
          {"rooms_whole", bootstrap.counters().whole},
          {"rooms_failed", bootstrap.counters().failed},
          {"room_clashes", bootstrap.counters().clashes}};
}

}  // namespace

std::string measured_json(const Measured& measured) { return json::serialize(object_of(measured)); }

std::string state_json(const LiveEngine& engine, const Counters& counters, std::size_t connections,
                       const KvHandoff* handoff, const Bootstrap* bootstrap) {
  engine::EngineBooks sum;
  json::array ranks;
  for (std::size_t rank = 0; rank < engine.ranks(); ++rank) {
    const auto books = engine.books(rank);
    sum.running += books.running;
    sum.waiting += books.waiting;
    sum.used_blocks += books.used_blocks;
    sum.kept_blocks += books.kept_blocks;
    sum.kv_tokens += books.kv_tokens;
    ranks.push_back(json::object{{"rank", rank},
                                 {"running", books.running},
                                 {"waiting", books.waiting},
                                 {"kv_tokens", books.kv_tokens.value()},
                                 {"used_blocks", books.used_blocks},
                                 {"steps", engine.steps(rank)},
                                 {"received", engine.received(rank)},
                                 {"cached_blocks", engine.cached_blocks(rank)}});
    if (const KvPublisher* const publisher = engine.publisher()) {
      const auto last = publisher->last_number(rank);
      ranks.back().get_object()["kv_events_number"] = last ? json::value(*last) : json::value(nullptr);
    }
  }
  json::object state{{"running", sum.running},
                     {"waiting", sum.waiting},
                     {"kv_tokens", sum.kv_tokens.value()},
                     {"used_blocks", sum.used_blocks},
                     {"received", counters.received},
                     {"completed", counters.completed},
                     {"aborted", counters.aborted},
                     {"faulted", counters.faulted},
                     {"open_connections", connections},
                     {"ranks", std::move(ranks)},
                     {"measured", object_of(engine.measured())}};
  if (handoff != nullptr) state["kv_transfer"] = object_of(*handoff, *bootstrap, sum.kept_blocks);
  return json::serialize(state);
}

}  // namespace evenkeel::emulator
