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

}  // namespace

std::string measured_json(const Measured& measured) { return json::serialize(object_of(measured)); }

std::string state_json(const LiveEngine& engine, const Counters& counters, std::size_t connections) {
  engine::EngineBooks sum;
  json::array ranks;
  for (std::size_t rank = 0; rank < engine.ranks(); ++rank) {
    const auto books = engine.books(rank);
    sum.running += books.running;
    sum.waiting += books.waiting;
    sum.used_blocks += books.used_blocks;
    sum.kv_tokens += books.kv_tokens;
    ranks.push_back(json::object{{"rank", rank},
                                 {"running", books.running},
                                 {"waiting", books.waiting},
                                 {"kv_tokens", books.kv_tokens.value()},
                                 {"used_blocks", books.used_blocks},
                                 {"steps", engine.steps(rank)},
                                 {"received", engine.received(rank)}});
  }
  return json::serialize(json::object{{"running", sum.running},
                                      {"waiting", sum.waiting},
                                      {"kv_tokens", sum.kv_tokens.value()},
                                      {"used_blocks", sum.used_blocks},
                                      {"received", counters.received},
                                      {"completed", counters.completed},
                                      {"aborted", counters.aborted},
                                      {"faulted", counters.faulted},
                                      {"open_connections", connections},
                                      {"ranks", std::move(ranks)},
                                      {"measured", object_of(engine.measured())}});
}

}  // namespace evenkeel::emulator
