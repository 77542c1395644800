#include "emulator/faults.hpp"

#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "emulator/json_body.hpp"

namespace evenkeel::emulator {
namespace {

constexpr std::int64_t longest_ms = 600'000;
constexpr std::int64_t most_count = 1'000'000'000;

constexpr std::array<std::string_view, 18> names = {"refuse",
                                                    "unlisten_ms",
                                                    "stall",
                                                    "die_after_tokens",
                                                    "truncate_after_tokens",
                                                    "status",
                                                    "status_probability",
                                                    "status_count",
                                                    "drop_probability",
                                                    "seed",
                                                    "error_event_first",
                                                    "health_status",
                                                    "metrics_delay_ms",
                                                    "gauge_lag_ms",
                                                    "ignore_rank_header",
                                                    "kv_drop_batches",
                                                    "kv_silent",
                                                    "kv_no_replay"};

std::optional<std::string> unknown_key(const JsonBody& body) {
  for (const auto& [name, value] : body.fields()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const auto near = nearest_name(name, names);
    return fmt::format("there is no fault \"{}\"{}", name, near.empty() ? "" : fmt::format(", did you mean {}?", near));
  }
  return std::nullopt;
}

}  // namespace

Result<Faults> change_faults(const Faults& faults, std::string_view json) {
  simdjson::dom::parser parser;
  auto body = JsonBody::parse(parser, json);
  if (!body) return failure(body.error().message);
  if (auto wrong = unknown_key(*body)) return failure(*std::move(wrong));
  Faults changed = faults;
  const Faults defaults;
  const auto given = [&](std::string_view key) {
    return std::ranges::any_of(body->fields(), [&](const auto& field) { return field.first == key; });
  };
  const auto flag = [&](std::string_view key, bool& into) {
    if (given(key)) into = body->flag(key);
  };
  const auto whole = [&](std::string_view key, auto& into, auto fallback, std::int64_t least, std::int64_t most) {
    if (!given(key)) return;
    const auto value = body->whole(key, least, most);
    into = fallback;
    if (value) into = static_cast<std::remove_cvref_t<decltype(*value)>>(*value);
  };
  const auto share = [&](std::string_view key, double& into, double fallback) {
    if (given(key)) into = body->number(key, 0, 1).value_or(fallback);
  };
  std::int64_t status = changed.status.value_or(0);
  std::int64_t health = changed.health_status;
  std::int64_t seed = static_cast<std::int64_t>(changed.seed);
  flag("refuse", changed.refuse);
  whole("unlisten_ms", changed.unlisten_ms, defaults.unlisten_ms, 0, longest_ms);
  flag("stall", changed.stall);
  whole("die_after_tokens", changed.die_after_tokens, defaults.die_after_tokens, 0, most_count);
  whole("truncate_after_tokens", changed.truncate_after_tokens, defaults.truncate_after_tokens, 0, most_count);
  whole("status", status, std::int64_t{0}, 400, 599);
  share("status_probability", changed.status_probability, defaults.status_probability);
  whole("status_count", changed.status_count, defaults.status_count, 0, most_count);
  share("drop_probability", changed.drop_probability, defaults.drop_probability);
  whole("seed", seed, std::int64_t{1}, 0, std::numeric_limits<std::int64_t>::max());
  flag("error_event_first", changed.error_event_first);
  whole("health_status", health, std::int64_t{200}, 200, 599);
  if (health != 200 && health < 500) body->reject("health_status", "200, or 500 to 599");
  whole("metrics_delay_ms", changed.metrics_delay_ms, defaults.metrics_delay_ms, 0, longest_ms);
  whole("gauge_lag_ms", changed.gauge_lag_ms, defaults.gauge_lag_ms, 0, longest_ms);
  flag("ignore_rank_header", changed.ignore_rank_header);
  whole("kv_drop_batches", changed.kv_drop_batches, defaults.kv_drop_batches, 0, most_count);
  flag("kv_silent", changed.kv_silent);
  flag("kv_no_replay", changed.kv_no_replay);
  if (body->fault()) return failure(body->fault()->message);
  changed.status = status == 0 ? std::nullopt : std::optional(static_cast<int>(status));
  changed.health_status = static_cast<int>(health);
  changed.seed = static_cast<std::uint64_t>(seed);
  return changed;
}

std::string faults_json(const Faults& faults) {
  namespace json = boost::json;
  const auto or_null = [](const auto& value) { return value ? json::value(*value) : json::value(nullptr); };
  return json::serialize(json::object{{"refuse", faults.refuse},
                                      {"unlisten_ms", faults.unlisten_ms},
                                      {"stall", faults.stall},
                                      {"die_after_tokens", or_null(faults.die_after_tokens)},
                                      {"truncate_after_tokens", or_null(faults.truncate_after_tokens)},
                                      {"status", or_null(faults.status)},
                                      {"status_probability", faults.status_probability},
                                      {"status_count", or_null(faults.status_count)},
                                      {"drop_probability", faults.drop_probability},
                                      {"seed", faults.seed},
                                      {"error_event_first", faults.error_event_first},
                                      {"health_status", faults.health_status},
                                      {"metrics_delay_ms", faults.metrics_delay_ms},
                                      {"gauge_lag_ms", faults.gauge_lag_ms},
                                      {"ignore_rank_header", faults.ignore_rank_header},
                                      {"kv_drop_batches", faults.kv_drop_batches},
                                      {"kv_silent", faults.kv_silent},
                                      {"kv_no_replay", faults.kv_no_replay}});
}

void FaultBox::set(const Faults& faults) {
  const bool restart = faults.seed != faults_.seed || faults == Faults{};
  faults_ = faults;
  if (restart) random_ = Random(faults_.seed);
}

FaultBox::Draw FaultBox::draw() {
  if (faults_.drop_probability > 0 && random_.unit() < faults_.drop_probability) return {Verdict::drop, 0};
  if (!faults_.status || faults_.status_count == 0) return {};
  if (faults_.status_probability < 1 && random_.unit() >= faults_.status_probability) return {};
  if (faults_.status_count) --*faults_.status_count;
  return {Verdict::fail, *faults_.status};
}

}  // namespace evenkeel::emulator
