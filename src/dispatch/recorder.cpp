#include "dispatch/recorder.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::dispatch {

namespace {

template <class... Args>
void put(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

/// Readers of JSON agree on numbers to 2^63.
std::int64_t as_signed(std::uint64_t hash) { return static_cast<std::int64_t>(hash); }

void put_text(std::string& out, std::string_view key, std::string_view value) {
  put(out, ",\"{}\":", key);
  append_json_string(out, value);
}

template <class Items, class Shown>
void put_list(std::string& out, std::string_view key, const Items& items, Shown shown) {
  put(out, ",\"{}\":[", key);
  bool first = true;
  for (const auto& item : items) put(out, "{}{}", std::exchange(first, false) ? "" : ",", shown(item));
  out += ']';
}

void put_models(std::string& out, std::span<const ModelId> models) {
  put_list(out, "models", models, [](ModelId id) { return id.value; });
}

void put_submission(std::string& out, const Submission& what) {
  put(out, ",\"model\":{},\"prompt\":{},\"bytes\":{},\"priority\":{},\"client\":{}", what.model.value,
      what.prompt_tokens.value(), what.bytes.value(), what.priority, as_signed(what.client.value));
  put(out, ",\"affinity\":{},\"key\":{},\"attempt\":{}", as_signed(what.affinity_key), as_signed(what.prompt_key),
      what.attempt);
  if (what.prefix) {
    put(out, ",\"block_tokens\":{}", what.prefix->block_tokens);
    put_list(out, "prefix", what.prefix->links, as_signed);
  }
  if (what.told_hits) {
    put_list(out, "held_workers", *what.told_hits, [](const auto& told) { return told.first.value; });
    put_list(out, "held_tokens", *what.told_hits, [](const auto& told) { return told.second.value(); });
  }
  if (!what.excluded.empty()) put_list(out, "excluded", what.excluded.ids(), [](WorkerId id) { return id.value; });
  if (what.output_bound > Tokens()) put(out, ",\"bound\":{}", what.output_bound.value());
  if (what.sequences != 1) put(out, ",\"sequences\":{}", what.sequences);
  if (what.heavy) put(out, ",\"heavy\":{}", *what.heavy ? 1 : 0);
  if (what.from_peer) put(out, ",\"from_peer\":1");
  if (what.at_once) put(out, ",\"at_once\":1");
  if (what.never_shed) put(out, ",\"never_shed\":1");
  if (what.returned) {
    put(out, ",\"returned\":{},\"arrived\":{}", what.returned->id.value,
        what.returned->arrived.time_since_epoch().count());
  }
}

void put_redline(std::string& out, const redline::Options& options) {
  if (!options.on) return;
  put(out, ",\"redline\":1,\"redline_published\":{},\"redline_level\":{}",
      options.line == redline::Line::published ? 1 : 0, options.level);
  put_text(out, "redline_footprint", redline::to_string(options.footprint));
  put(out, ",\"redline_reserve\":{},\"redline_band\":{},\"redline_silo\":{},\"redline_share\":{}", options.reserve,
      options.band, options.silo, options.share);
  put(out, ",\"redline_prefill\":{},\"redline_unknown_output\":{},\"redline_lease\":{}", options.prefill_tokens,
      options.unknown_output, options.lease.count());
  put(out, ",\"redline_blocks\":{},\"redline_closes\":{}", options.when_cut_off == redline::WhenCutOff::block ? 1 : 0,
      options.when_frozen == redline::WhenFrozen::close ? 1 : 0);
  put(out, ",\"redline_heavy_tokens\":{},\"redline_theta\":{},\"redline_clients\":{}", options.heavy.heavy_tokens,
      options.heavy.theta, options.heavy.most_clients);
}

/// Writes the name of what was asked and what came along.
struct Put {
  std::string& out;

  void name(std::string_view name) const { put(out, ",\"ask\":\"{}\"", name); }
  void name(std::string_view name, WorkerId worker) const {
    put(out, ",\"ask\":\"{}\",\"worker\":{}", name, worker.value);
  }

  void operator()(const ask::AddWorker& of) const {
    name("add_worker");
    put_text(out, "name", of.spec.name);
    put_models(out, of.spec.models);
    put(out, ",\"limit\":{}", of.spec.max_in_flight);
    put_text(out, "group", of.spec.group);
    put_text(out, "role", fleet::to_string(of.spec.role));
    if (of.spec.peer) put(out, ",\"peer\":1");
  }
  void operator()(const ask::SetState& of) const {
    name("set_state", of.worker);
    put_text(out, "state", to_string(of.state));
  }
  void operator()(const ask::SetModels& of) const {
    name("set_models", of.worker);
    put_models(out, of.models);
  }
  void operator()(const ask::SetMaxInFlight& of) const {
    name("set_max_in_flight", of.worker);
    put(out, ",\"limit\":{}", of.limit);
  }
  void operator()(const ask::SetShare& of) const {
    name("set_share", of.worker);
    put(out, ",\"slots\":{},\"limit\":{},\"foreign\":{}", of.share.slots, of.share.max_in_flight,
        of.share.foreign_requests);
  }
  void rates(std::span<const fleet::RatePoint> points) const {
    put_list(out, "levels", points, [](const fleet::RatePoint& point) { return point.level; });
    put_list(out, "rates", points, [](const fleet::RatePoint& point) { return point.rate; });
  }
  void operator()(const ask::SetRate& of) const {
    name("set_rate", of.worker);
    rates(of.points);
  }
  void operator()(const ask::BeginRate& of) const {
    name("begin_rate", of.worker);
    rates(of.points);
  }
  void operator()(const ask::SetShedding& of) const {
    name("set_shedding");
    put(out, ",\"on\":{}", of.on ? 1 : 0);
  }
  void operator()(const ask::SetStepTime& of) const {
    name("set_step_time", of.worker);
    put(out, ",\"fixed_s\":{},\"token_s\":{}", of.step_time.fixed_s, of.step_time.token_s);
  }
  void operator()(const ask::Report& of) const {
    name("report", of.worker);
    const EngineReport& report = of.report;
    put(out, ",\"asked\":{},\"received\":{}", report.asked.time_since_epoch().count(),
        report.received.time_since_epoch().count());
    put(out, ",\"running\":{},\"waiting\":{},\"kv_used\":{},\"kv_capacity\":{}", report.running, report.waiting,
        report.kv_used.value(), report.kv_capacity.value());
  }
  void operator()(const ask::SetPrefixCache& of) const {
    name("set_prefix_cache", of.worker);
    put(out, ",\"blocks\":{}", of.blocks);
  }
  void operator()(const ask::ForgetPrefixes& of) const { name("forget_prefixes", of.worker); }
  void operator()(const ask::SetAlarm& of) const {
    name("set_alarm");
    put(out, ",\"on\":{}", of.on ? 1 : 0);
  }
  void operator()(const ask::Recall& of) const {
    name("recall");
    put(out, ",\"model\":{}", of.model.value);
    put_list(out, "ended", of.ended, [](const forecast::EndedRequest& ended) {
      return fmt::format("[{},{},{},{}]", ended.prompt_tokens, ended.output_tokens, ended.completed ? 1 : 0,
                         as_signed(ended.prompt_key));
    });
  }
  void operator()(const ask::Submit& of) const {
    name("submit");
    put_submission(out, of.submission);
  }
  void operator()(const ask::LeaseAt& of) const {
    name("lease_at", of.worker);
    put_submission(out, of.submission);
  }
  void operator()(const ask::Cancel& of) const {
    name("cancel");
    put(out, ",\"request\":{}", of.request.value);
  }
  void operator()(const ask::Ended& of) const {
    name("ended");
    const fleet::LeaseSummary& lease = of.summary;
    put(out, ",\"request\":{},\"outcome\":\"{}\",\"prompt\":{},\"output\":{},\"had_output\":{},\"held\":{}",
        lease.request.value, fleet::to_string(lease.outcome), lease.prompt_tokens.value(), lease.output_tokens.value(),
        lease.had_output ? 1 : 0, lease.held.count());
  }
  void operator()(const ask::Resume& of) const {
    name("resume");
    put(out, ",\"step\":{}", of.step);
  }
  void operator()(const ask::Pause&) const { name("pause"); }
  void operator()(const ask::PlanDue&) const { name("plan_due"); }
  void operator()(const ask::Tick&) const { name("tick"); }
  void operator()(const ask::Close&) const { name("close"); }
};

}  // namespace

Recorder::Recorder(Sink sink, std::string_view policy, std::uint64_t seed, const DispatcherOptions& options)
    : sink_(std::move(sink)) {
  put(line_, "{{\"evenkeel_recording\":1");
  put_text(line_, "evenkeel", EVENKEEL_VERSION);
  put_text(line_, "policy", policy);
  put(line_, ",\"seed\":{},\"pool_requests\":{},\"pool_bytes\":{},\"pool_timeout\":{},\"unroutable_wait\":{}",
      as_signed(seed), options.pool_requests, options.pool_bytes.value(), options.pool_timeout.count(),
      options.unroutable_wait.count());
  if (options.overtake_cap) put(line_, ",\"overtake_cap\":{}", *options.overtake_cap);
  put(line_, ",\"prompt_weight\":{},\"plan_window\":{},\"signal_lifetime\":{}", options.prompt_weight,
      options.plan_window, options.signal_lifetime.count());
  put(line_, ",\"prefix_blocks\":{},\"prefix_lifetime\":{}", options.prefix_index.total_blocks,
      options.prefix_index.lifetime.count());
  put_redline(line_, options.redline);
  put(line_, ",\"gather_share\":{},\"gather_limit\":{},\"mean_output\":{}}}\n", options.gather_share,
      options.gather_limit.count(), options.mean_output);
  sink_(line_);
}

void Recorder::begin(const Ask& asked, Time now) {
  line_.clear();
  read_.clear();
  became_.clear();
  put(line_, "{{\"n\":{},\"at\":{}", ++number_, now.time_since_epoch().count());
  std::visit(Put{line_}, asked);
}

void Recorder::read(std::int64_t& value) { put(read_, "{}{}", read_.empty() ? "" : ",", value); }

void Recorder::ended(fleet::LeaseSummary&) {}  // begin() wrote it

void Recorder::placed(RequestId request, WorkerId worker, std::string_view reason) {
  put(became_, "{}[{},{},\"{}\"]", became_.empty() ? "" : ",", request.value, worker.value, reason);
}

void Recorder::refused(RequestId request, fleet::Refusal why) {
  put(became_, "{}[{},\"{}\"]", became_.empty() ? "" : ",", request.value, fleet::to_string(why));
}

void Recorder::finish() {
  if (!read_.empty()) put(line_, ",\"read\":[{}]", read_);
  if (!became_.empty()) put(line_, ",\"became\":[{}]", became_);
  line_ += "}\n";
  sink_(line_);
}

}  // namespace evenkeel::dispatch
