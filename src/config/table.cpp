#include "config/table.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "engines/adapter.hpp"
#include "fleet/view.hpp"
#include "routing/policy.hpp"

namespace evenkeel::config {
namespace {

using namespace std::chrono_literals;
using std::vector;

constexpr Duration day = 24h;
constexpr Duration tick = 1ms;
constexpr std::int64_t many = 1'000'000'000;
constexpr Bytes tebibyte{1LL << 40U};

vector<std::string_view> choices_of(std::span<const std::string_view> names) { return {names.begin(), names.end()}; }

/// Whether a router in service can have this policy. Reads the file of a `learned` forecast.
Result<void> check_policy(std::string_view text) {
  const auto spec = routing::PolicySpec::parse(text);
  if (!spec) return tl::unexpected(spec.error());
  routing::PolicyParts parts;
  const auto& given = spec->parameters;
  if (std::find(given.begin(), given.end(), std::pair<std::string, std::string>("forecast", "oracle")) != given.end()) {
    parts.forecast = [](std::string_view) {
      return failure(
          "forecast \"oracle\" is told the true outputs, which nobody knows in service; it is for `evenkeel "
          "simulate` alone");
    };
  }
  if (auto made = routing::make_policy(*spec, parts); !made) return tl::unexpected(made.error());
  return {};
}

vector<std::string_view> engine_choices() {
  vector<std::string_view> all = {"auto"};
  for (const auto name : engines::kind_names()) all.push_back(name);
  return all;
}

template <class Owner, class T>
Number<Owner, T> number(T Owner::*member, T least, T most) {
  return {member, std::move(least), std::move(most)};
}

vector<std::string_view> role_choices() {
  vector<std::string_view> all;
  for (const auto role : fleet::all_roles) all.push_back(fleet::to_string(role));
  return all;
}

/// Table entries of a part, as entries of the whole.
template <class Part>
void lift(vector<Setting<ServeSettings>>& into, std::string_view table, Part ServeSettings::*part,
          const vector<Setting<Part>>& entries) {
  for (const Setting<Part>& entry : entries) {
    Setting<ServeSettings> lifted{table, entry.key, entry.flag, {}, entry.doc};
    std::visit(
        [&](const auto& value) {
          using Value = typename std::decay_t<decltype(value)>::Value;
          const auto at = [part, inner = value.at](ServeSettings& whole) -> Value& { return inner(whole.*part); };
          if constexpr (requires { value.least; }) {
            lifted.value = Number<ServeSettings, Value>{at, value.least, value.most};
          } else if constexpr (requires { value.choices; }) {
            lifted.value = Text<ServeSettings>{at, value.choices, value.check, value.more};
          } else if constexpr (std::is_same_v<Value, bool>) {
            lifted.value = Switch<ServeSettings>{at};
          } else {
            lifted.value = List<ServeSettings>{at};
          }
        },
        entry.value);
    into.push_back(std::move(lifted));
  }
}

vector<Setting<ServeSettings>> top_level() {
  using S = ServeSettings;
  return {
      {"", "policy", "--policy",
       Text<S>{&S::policy, choices_of(routing::policy_names()), check_policy,
               "; its parameters in brackets, as in brh[horizon=40]"},
       "How a worker is chosen, see docs/policies.md"},
      {"", "host", "--host", Text<S>{&S::host, {}}, "Address that clients connect to"},
      {"", "port", "--port", number(&S::port, 0, 65535), "Its port; 0 = any free one"},
      {"", "admin_host", "--admin-host", Text<S>{&S::admin_host, {}}, "Address of the admin API and the metrics"},
      {"", "admin_port", "--admin-port", number(&S::admin_port, 0, 65535), "Its port; 0 = any free one"},
      {"", "self_name", "--self-name", Text<S>{&S::self_name, {}},
       "What peers call this router; empty = an id that is drawn at each start"},
      {"", "threads", "--threads", number(&S::threads, 0, 1024), "Relay shards; 0 = one per core"},
      {"", "seed", "--seed", number<S, std::uint64_t>(&S::seed, 0, std::numeric_limits<std::int64_t>::max()),
       "Of the decisions' random draws; 0 = from the system"},
      {"", "max_in_flight", "--max-in-flight", number<S, std::int64_t>(&S::max_in_flight, 0, 1'000'000),
       "Requests at once per worker, of each rank; 0 = what the engine tells, else the default of its kind"},
      {"", "ranks", "--ranks", number<S, std::int64_t>(&S::ranks, 0, engines::max_ranks),
       "Data-parallel ranks of each engine, each a worker of its own; 0 = found out, 1 = the engine is one worker"},
      {"", "sync", "--sync", Switch<S>{&S::sync},
       "Ranks of one engine make their steps together; off for dense models, whose ranks do not"},
      {"", "transfer_lease", "--transfer-lease", number<S, Duration>(&S::transfer_lease, 1s, day),
       "How long prefill engines keep KV for a decode engine; see docs/prefill-decode.md"},
      {"", "kv_event_blocks", "--kv-event-blocks",
       number<S, std::int64_t>(&S::kv_event_blocks, 1, std::int64_t{1} << 26U),
       "Blocks that are kept account of for each worker that tells of its cache (54 bytes each), see docs/affinity.md"},
      {"", "access_log", "--access-log", Text<S>{&S::access_log, {}}, "A file, \"-\" for standard output, or \"off\""},
      {"", "record", "--record", Text<S>{&S::record, {}},
       "A file for all that decisions rest on, see docs/recording.md, or \"off\""},
      {"", "forecast_file", "--forecast-file", Text<S>{&S::forecast_file, {}},
       "A file that keeps what forecasts have learned from run to run, see docs/forecast.md, or \"off\""},
      {"", "calibrations", "--calibration", List<S>{&S::calibrations},
       "Files of `evenkeel calibrate`, each for the worker with the url in it"},
      {"", "receipts", "--receipts", Switch<S>{&S::receipts}, "X-Evenkeel-* fields on answers"},
      {"", "metrics_on_public_port", "--metrics-on-public-port", Switch<S>{&S::metrics_on_public_port},
       "Serve /metrics to clients too"},
      {"", "trust_client_transfer", "--trust-client-transfer", Switch<S>{&S::trust_client_transfer},
       "Keep KV transfer and rank fields that clients send"},
      {"", "forward_authorization", "--forward-authorization", Switch<S>{&S::forward_authorization},
       "Pass the client's Authorization to workers"},
      {"", "client_fin_cancels", "--client-fin-cancels", Switch<S>{&S::client_fin_cancels},
       "A client that closes its sending side counts as gone"},
      {"", "heartbeat", "--heartbeat", number<S, Duration>(&S::heartbeat, 0s, day),
       "An SSE comment this often while no token has come; 0 = off. The first one commits the status"},
      {"", "client_key_headers", "--client-key-headers", List<S>{&S::client_key_headers},
       "Request fields that tell clients apart, first found; the address where none is there"},
      {"", "affinity_headers", "--affinity-headers", List<S>{&S::affinity_headers},
       "Request fields that name a session, for policy consistent_hash"},
      {"", "cors_origins", "--cors-origins", List<S>{&S::cors_origins},
       "Origins that browsers may call from, \"*\" = any; empty = OPTIONS is not answered"},
      {"", "drain_timeout", "--drain-timeout", number<S, Duration>(&S::drain_timeout, 0s, day),
       "From SIGTERM until open requests are ended"},
  };
}

vector<Setting<Timeouts>> timeout_entries() {
  using T = Timeouts;
  return {
      {"timeouts", "connect", "--connect-timeout", number<T, Duration>(&T::connect, 0s, day),
       "To connect to a worker; 0 = off"},
      {"timeouts", "first_byte", "--first-byte-timeout", number<T, Duration>(&T::first_byte, 0s, day),
       "From the request's last byte sent to the first of the answer's body; 0 = off"},
      {"timeouts", "silence", "--silence-timeout", number<T, Duration>(&T::silence, 0s, day),
       "Between bytes of the answer; 0 = off"},
      {"timeouts", "total", "--total-timeout", number<T, Duration>(&T::total, 0s, day),
       "From arrival to the last byte; 0 = off"},
  };
}

vector<Setting<RetrySettings>> retry_entries() {
  using R = RetrySettings;
  return {
      {"retry", "attempts", "--retry-attempts", number(&R::attempts, 1, 100),
       "Attempts of one request, the first included; 1 = no retries"},
      {"retry", "budget", "--retry-budget", number(&R::budget, 0.0, 1.0),
       "Retries as a share of the model's recent first attempts"},
      {"retry", "backoff", "--retry-backoff", number<R, Duration>(&R::backoff, 0s, 1min),
       "Mean of the pause before the first retry; doubles each time, fully jittered"},
      {"retry", "backoff_cap", "--retry-backoff-cap", number<R, Duration>(&R::backoff_cap, 0s, 10min),
       "The mean grows to this at most"},
  };
}

vector<Setting<HealthSettings>> health_entries() {
  using H = HealthSettings;
  return {
      {"health", "interval", "--health-interval", number<H, Duration>(&H::interval, 10ms, 1h),
       "Between two probes of a worker"},
      {"health", "timeout", "--health-timeout", number<H, Duration>(&H::timeout, tick, 10min),
       "A probe that takes longer is bad"},
      {"health", "rise", "--health-rise", number(&H::rise, 1, 1000), "Good probes in a row that bring a worker back"},
      {"health", "fall", "--health-fall", number(&H::fall, 1, 1000), "Bad probes in a row that take it out"},
      {"health", "breaker_faults", "--breaker-faults", number(&H::breaker_faults, 0, 1'000'000),
       "Faults of requests in a row that open a worker's breaker; 0 = never"},
      {"health", "breaker_open", "--breaker-open", number<H, Duration>(&H::breaker_open, tick, 1h),
       "How long it stays open before a trial; doubles while trials fail"},
      {"health", "breaker_cap", "--breaker-cap", number<H, Duration>(&H::breaker_cap, tick, day),
       "It doubles to this at most"},
      {"health", "ejection_cap", "--ejection-cap", number(&H::ejection_cap, 0.0, 1.0),
       "Share of the workers that breakers may take out at once; of prefill workers and of the others each"},
  };
}

vector<Setting<PoolSettings>> pool_entries() {
  using P = PoolSettings;
  return {
      {"pool", "requests", "--pool-requests", number<P, std::int64_t>(&P::requests, 0, many),
       "Requests that may wait; 0 = none"},
      {"pool", "bytes", "--pool-bytes", number<P, Bytes>(&P::bytes, Bytes(0), tebibyte),
       "Bytes that their bodies may take"},
      {"pool", "timeout", "--pool-timeout", number<P, Duration>(&P::timeout, 0s, day),
       "How long one may wait, where it names no deadline"},
      {"pool", "unroutable_wait", "--pool-unroutable-wait", number<P, Duration>(&P::unroutable_wait, 0s, day),
       "How long one may wait while no worker of its model is routable"},
      {"pool", "overtake_cap", "--overtake-cap", number<P, std::int64_t>(&P::overtake_cap, -1, many),
       "Later arrivals that may pass one that waits; 0 = any number, -1 = as the policy bounds it, else 64"},
  };
}

vector<Setting<PrefixSettings>> prefix_entries() {
  using P = PrefixSettings;
  constexpr std::int64_t most_blocks = 1 << 26;
  return {
      {"prefix", "bytes", "--prefix-bytes", number<P, Bytes>(&P::bytes, Bytes(0), Bytes(16LL << 20U)),
       "Of a prompt's beginning that are looked at, to send it where it is in a prefix cache; 0 = not done, see "
       "docs/affinity.md"},
      {"prefix", "cache_tokens", "--prefix-cache-tokens", number<P, std::int64_t>(&P::cache_tokens, -1, many),
       "Tokens that each worker's prefix cache holds, of each rank; 0 = it has none, -1 = what its engine says"},
      {"prefix", "blocks", "--prefix-blocks", number<P, std::int64_t>(&P::blocks, 0, most_blocks),
       "Blocks of 256 bytes that are kept account of, of all workers together; some 51 bytes each"},
      {"prefix", "lifetime", "--prefix-lifetime", number<P, Duration>(&P::lifetime, 1s, day),
       "How long a block is believed in after it was last asked for"},
  };
}

vector<Setting<RedlineSettings>> redline_entries() {
  using R = RedlineSettings;
  return {
      {"redline", "mode", "--redline", Text<R>{&R::mode, {"off", "on", "published"}},
       "Keep workers within their memory under every policy, see docs/redline.md; published = by one fixed line"},
      {"redline", "level", "--redline-level", number(&R::level, 0.501, 0.9999999),
       "Probability with which what is resident at a worker stays within its KV memory"},
      {"redline", "reserve", "--redline-reserve", number(&R::reserve, 0.0, 0.99),
       "Share of the fleet's KV memory below which heavy requests are refused"},
      {"redline", "band", "--redline-band", number(&R::band, 0.0, 0.99),
       "So much more, and one mean answer a worker, and they are taken again"},
      {"redline", "silo", "--redline-silo", number(&R::silo, 0.0, 0.99),
       "Share of its KV memory that a worker keeps free which is not heard of; the line of published"},
      {"redline", "share", "--redline-share", number(&R::share, 0.001, 1.0),
       "This router's share of each worker's KV memory, where several routers share the workers"},
      {"redline", "lease", "--redline-lease", number<R, Duration>(&R::lease, 100ms, day),
       "How long a worker counts as heard of after its engine's report"},
      {"redline", "cut_off", "--redline-cut-off", Text<R>{&R::cut_off, {"admit", "block"}},
       "What becomes of a worker that is not heard of: it is given requests within its own reserve, or none"},
      {"redline", "frozen", "--redline-frozen", Text<R>{&R::frozen, {"meter", "close"}},
       "While the fleet is frozen: heavy requests enter as far as the reserve stays whole, or not at all"},
      {"redline", "footprint", "--redline-footprint",
       Text<R>{&R::footprint, {"admission", "window_mean", "window_close", "mean_duration", "residency_mean"}},
       "What a request counts for in receipts, and for a published line"},
      {"redline", "heavy_tokens", "--redline-heavy-tokens", number<R, std::int64_t>(&R::heavy_tokens, 1, many),
       "Output tokens beyond which a request is heavy"},
      {"redline", "unknown_output", "--redline-unknown-output", number<R, std::int64_t>(&R::unknown_output, 1, many),
       "Mean output tokens that are assumed until 64 answers of the model have ended"},
      {"redline", "prefill_tokens", "--redline-prefill-tokens", number<R, std::int64_t>(&R::prefill_tokens, 1, many),
       "Prompt tokens to be computed that a worker may owe"},
  };
}

vector<Setting<PeerOptionSettings>> peer_option_entries() {
  using P = PeerOptionSettings;
  constexpr std::int64_t most_slots = 1'000'000;
  return {
      {"peer_options", "quantization", "--quantization", Text<P>{&P::quantization, {}},
       "Of models that name none of their own, as peers must match it, such as fp8 or none"},
      {"peer_options", "capacities", "--peer-capacities", Switch<P>{&P::capacities},
       "Publish how many requests are served here at once, and believe what peers publish; off = nobody is calibrated"},
      {"peer_options", "capacity_clamp", "--peer-capacity-clamp",
       number<P, std::int64_t>(&P::capacity_clamp, 1, most_slots), "A capacity that a peer publishes is cut to this"},
      {"peer_options", "uncalibrated_slots", "--peer-uncalibrated-slots",
       number<P, std::int64_t>(&P::uncalibrated_slots, 1, most_slots),
       "Requests at once at a peer that publishes none"},
      {"peer_options", "probe_interval", "--peer-probe-interval", number<P, Duration>(&P::probe_interval, 10ms, 1h),
       "Between two probes of a peer"},
      {"peer_options", "probe_timeout", "--peer-probe-timeout", number<P, Duration>(&P::probe_timeout, tick, 10min),
       "A probe that takes longer is lost"},
      {"peer_options", "lost_probes", "--peer-lost-probes", number(&P::lost_probes, 1, 1000),
       "Lost in a row, with no other sign of life, they take a peer out"},
      {"peer_options", "slack", "--peer-slack", number<P, Duration>(&P::slack, 0s, 1min),
       "How far the gauges of a peer of another kind may lag"},
      {"peer_options", "fresh", "--peer-fresh", number<P, Duration>(&P::fresh, 0s, 1min),
       "A request that waits because of others at a peer has it asked again when what is known of them is older"},
      {"peer_options", "ahead_over", "--peer-ahead-over", number(&P::ahead_over, 0.0, 1.0),
       "One request is sent ahead for each slot about to be free while the way there takes over this share of a "
       "request's service; 1 = never"},
  };
}

vector<Setting<PressureSettings>> pressure_entries() {
  using P = PressureSettings;
  return {
      {"pressure", "mode", "--pressure", Text<P>{&P::mode, {"off", "show", "shed"}},
       "Look at the pressure that this box is under, see docs/pressure.md; shed = and take nothing new on while its "
       "memory thrashes"},
      {"pressure", "root", "--pressure-root", Text<P>{&P::root, {}},
       "Where /proc and /sys are: of the host, from inside a container, or recorded"},
      {"pressure", "interval", "--pressure-interval", number<P, Duration>(&P::interval, 100ms, 1h),
       "Between two looks"},
      {"pressure", "evidence", "--pressure-evidence", Text<P>{&P::evidence, {"thrash", "swap"}},
       "What shows, beside used swap, that memory is short: that tasks wait for it or pages come back from swap; or "
       "nothing more"},
      {"pressure", "swap_percent", "--pressure-swap-percent", number(&P::swap_percent, 0.0, 100.0),
       "Used swap over it: short of memory"},
      {"pressure", "stall_percent", "--pressure-stall-percent", number(&P::stall_percent, 0.0, 100.0),
       "Share of 10 s in which a task waited for memory; over it: thrash"},
      {"pressure", "swap_ins", "--pressure-swap-ins", number(&P::swap_ins, 0.0, 1e9),
       "Pages a second that come back from swap; over it: thrash"},
      {"pressure", "iowait_percent", "--pressure-iowait-percent", number(&P::iowait_percent, 0.0, 100.0),
       "iowait over it is shown as busy, and does no more"},
      {"pressure", "hold", "--pressure-hold", number<P, Duration>(&P::hold, 0s, day),
       "How long the box must have been well before it takes requests again"},
  };
}

vector<Setting<LimitSettings>> limit_entries() {
  using L = LimitSettings;
  constexpr Bytes gibibyte{1LL << 30U};
  return {
      {"limits", "head", "--max-head-bytes", number<L, Bytes>(&L::head, Bytes(1024), Bytes(16LL << 20U)),
       "Largest head of a request or an answer"},
      {"limits", "body", "--max-body-bytes", number<L, Bytes>(&L::body, Bytes(1), tebibyte), "Largest request body"},
      {"limits", "kept_body", "--kept-body-bytes", number<L, Bytes>(&L::kept_body, Bytes(0), gibibyte),
       "Larger request bodies are streamed up and then not retried"},
      {"limits", "connections", "--max-connections", number<L, std::int64_t>(&L::connections, 1, 10'000'000),
       "Client connections at once"},
      {"limits", "remembered_responses", "--remembered-responses",
       number<L, std::int64_t>(&L::remembered_responses, 0, 100'000'000),
       "Ids of /v1/responses that are remembered with their worker"},
      {"limits", "idle", "--idle-timeout", number<L, Duration>(&L::idle, 0s, day),
       "A client's keep-alive connection without a request; 0 = off"},
      {"limits", "head_timeout", "--head-timeout", number<L, Duration>(&L::head_timeout, 0s, day),
       "For a request's head to arrive; 0 = off"},
      {"limits", "body_timeout", "--body-timeout", number<L, Duration>(&L::body_timeout, 0s, day),
       "Between two pieces of a request's body; 0 = off"},
  };
}

vector<Setting<ServeSettings>> whole_table() {
  vector<Setting<ServeSettings>> all = top_level();
  lift(all, "timeouts", &ServeSettings::timeouts, timeout_entries());
  lift(all, "retry", &ServeSettings::retry, retry_entries());
  lift(all, "health", &ServeSettings::health, health_entries());
  lift(all, "pool", &ServeSettings::pool, pool_entries());
  lift(all, "prefix", &ServeSettings::prefix, prefix_entries());
  lift(all, "redline", &ServeSettings::redline, redline_entries());
  lift(all, "peer_options", &ServeSettings::peer_options, peer_option_entries());
  lift(all, "pressure", &ServeSettings::pressure, pressure_entries());
  lift(all, "limits", &ServeSettings::limits, limit_entries());
  return all;
}

}  // namespace

std::span<const Setting<ServeSettings>> serve_table() {
  static const auto table = whole_table();
  return table;
}

std::span<const Setting<Timeouts>> timeout_table() {
  static const auto table = timeout_entries();
  return table;
}

std::span<const Setting<WorkerSetting>> worker_table() {
  using W = WorkerSetting;
  static const vector<Setting<W>> table = {
      {"workers", "url", "", Text<W>{&W::url, {}}, "http://host:port[/base]; must be there"},
      {"workers", "name", "", Text<W>{&W::name, {}}, "What receipts, log and admin API call it; default host:port"},
      {"workers", "models", "", List<W>{&W::models}, "What it serves; default: what its /v1/models says"},
      {"workers", "engine", "", Text<W>{&W::engine, engine_choices()}, "Its kind; auto = found out"},
      {"workers", "max_in_flight", "", number<W, std::int64_t>(&W::max_in_flight, 0, 1'000'000),
       "Requests at once, of each rank; 0 = the top-level max_in_flight"},
      {"workers", "ranks", "", number<W, std::int64_t>(&W::ranks, 0, engines::max_ranks),
       "Its data-parallel ranks; 0 = the top-level ranks"},
      {"workers", "group", "", Text<W>{&W::group, {}},
       "Sync group: workers of one name make their steps together; default: the ranks of this engine"},
      {"workers", "sync", "", Switch<W>{&W::sync}, "As the top-level sync, for this engine"},
      {"workers", "role", "", Text<W>{&W::role, role_choices()},
       "Which part of a request it does, see docs/prefill-decode.md"},
      {"workers", "bootstrap_port", "", number<W, std::int64_t>(&W::bootstrap_port, 0, 65535),
       "Where decode workers meet it, with role = prefill of SGLang; 0 = what it tells, else 8998"},
      {"workers", "prefix_cache_tokens", "", number<W, std::int64_t>(&W::prefix_cache_tokens, -1, many),
       "Tokens that its prefix cache holds, of each rank; 0 = it has none, -1 = the cache_tokens of [prefix]"},
      {"workers", "kv_events", "", Text<W>{&W::kv_events, {}},
       "Where its first rank publishes KV-cache events, such as tcp://host:5557; rank N on the port plus N"},
      {"workers", "kv_events_replay", "", Text<W>{&W::kv_events_replay, {}},
       "Where its first rank can be asked for them again, such as tcp://host:5558"},
      {"workers", "calibration", "", Text<W>{&W::calibration, {}},
       "File of `evenkeel calibrate`: its slots, if no max_in_flight is given, and the rates that learning begins "
       "with"},
      {"workers", "api_key_file", "", Text<W>{&W::api_key_file, {}}, "File with the key to send to it, on probes too"},
      {"workers", "api_key_env", "", Text<W>{&W::api_key_env, {}}, "Environment variable with the key instead"},
  };
  return table;
}

std::span<const Setting<PeerSetting>> peer_table() {
  using P = PeerSetting;
  static const vector<Setting<P>> table = {
      {"peers", "url", "", Text<P>{&P::url, {}},
       "Of the other router's public port, http://host:port[/base]; must be there"},
      {"peers", "name", "", Text<P>{&P::name, {}}, "What receipts, log and admin API call it; default host:port"},
      {"peers", "kind", "", Text<P>{&P::kind, {"auto", "evenkeel", "lobes"}}, "What it is; auto = found out"},
      {"peers", "models", "", List<P>{&P::models},
       "What is shared with it, by the ids that it serves; default: all that it serves"},
      {"peers", "api_key_file", "", Text<P>{&P::api_key_file, {}}, "File with the key to send to it, on probes too"},
      {"peers", "api_key_env", "", Text<P>{&P::api_key_env, {}}, "Environment variable with the key instead"},
      {"peers", "accept_key_file", "", Text<P>{&P::accept_key_file, {}},
       "File with the key that it must send; none = its address is enough to know it by"},
      {"peers", "accept_key_env", "", Text<P>{&P::accept_key_env, {}}, "Environment variable with that key instead"},
  };
  return table;
}

std::span<const Setting<ModelSetting>> model_table() {
  using M = ModelSetting;
  static const vector<Setting<M>> table = {
      {"models", "name", "", Text<M>{&M::name, {}}, "As the workers serve it; must be there"},
      {"models", "aliases", "", List<M>{&M::aliases}, "Other names that clients may use"},
      {"models", "never_shed", "", Switch<M>{&M::never_shed}, "Taken on even while this box sheds"},
      {"models", "runtime", "", Text<M>{&M::runtime, {}},
       "What runs it, as peers must match it; default: the engine's kind"},
      {"models", "quantization", "", Text<M>{&M::quantization, {}},
       "As peers must match it; default: that of [peer_options]"},
      {"models", "kv_cache_dtype", "", Text<M>{&M::kv_cache_dtype, {}}, "Shown to peers"},
      {"models", "reasoning_parser", "", Text<M>{&M::reasoning_parser, {}}, "Shown to peers"},
      {"models", "tool_parser", "", Text<M>{&M::tool_parser, {}}, "Shown to peers"},
      {"models", "speculative_config", "", Text<M>{&M::speculative_config, {}}, "Shown to peers"},
  };
  return table;
}

}  // namespace evenkeel::config
