#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/calibration.hpp"
#include "config/check_parts.hpp"
#include "config/load.hpp"
#include "config/table.hpp"
#include "engines/adapter.hpp"
#include "http/address.hpp"
#include "routing/policy.hpp"

namespace evenkeel::config {
namespace {

/// The outcome of a run of checks: the first that fails counts.
Result<void> require(bool good, std::string_view what) {
  if (good) return {};
  return failure(std::string(what));
}

bool is_any_host(std::string_view host) { return host == "0.0.0.0" || host == "::" || host == "[::]"; }

Result<void> check_listeners(const ServeSettings& s) {
  for (const auto& [name, host] : {std::pair{"host", &s.host}, {"admin_host", &s.admin_host}}) {
    if (host->empty() || host->find_first_of(" \t/") != std::string::npos) {
      return failure(fmt::format("{} \"{}\" is no host (allowed: a name or an IP address)", name, *host));
    }
  }
  const bool same_host = s.host == s.admin_host || is_any_host(s.host) || is_any_host(s.admin_host);
  return require(s.port == 0 || s.port != s.admin_port || !same_host,
                 fmt::format("port and admin_port are both {} on one address; give them different ports", s.port));
}

Result<void> check_header_names(std::string_view key, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!is_token(name, "!#$%&'*+-.^_`|~")) {
      return failure(fmt::format(
          "{} has \"{}\", which is no header name (allowed: letters, digits and !#$%&'*+-.^_`|~)", key, name));
    }
  }
  return {};
}

Result<void> check_origins(const ServeSettings& s) {
  for (const std::string& origin : s.cors_origins) {
    const auto scheme = origin.find("://");
    const bool good = origin == "*" || origin == "null" ||
                      (scheme != std::string::npos && scheme > 0 && scheme + 3 < origin.size() &&
                       origin.find_first_of("/ \t?#,", scheme + 3) == std::string::npos);
    if (!good) {
      return failure(
          fmt::format("cors_origins has \"{}\" (allowed: \"*\" or an origin like \"https://app.example\", "
                      "without a path)",
                      origin));
    }
  }
  return {};
}

std::string policy_name(const ServeSettings& s) {
  const auto spec = routing::PolicySpec::parse(s.policy);
  return spec ? spec->name : s.policy;
}

/// Whether the policy makes forecasts. One that cannot be made is refused elsewhere.
bool forecasts(const ServeSettings& s) {
  const auto policy = routing::make_policy(s.policy);
  return !policy || (*policy)->forecasts() != nullptr;
}

/// Whether somebody who places requests makes something of what prefix caches hold.
bool wants_hits(const ServeSettings& s) {
  if (std::any_of(s.workers.begin(), s.workers.end(), [](const auto& worker) { return worker.role == "prefill"; })) {
    return true;
  }
  const auto policy = routing::make_policy(s.policy);
  return !policy || (*policy)->wants_hits();
}

bool changes_prefix(const ServeSettings& s) {
  const PrefixSettings defaults;
  const bool worker =
      std::any_of(s.workers.begin(), s.workers.end(), [](const auto& each) { return each.prefix_cache_tokens >= 0; });
  return worker || s.prefix.cache_tokens != defaults.cache_tokens || s.prefix.blocks != defaults.blocks ||
         s.prefix.lifetime != defaults.lifetime;
}

/// Settings that were changed and can have no effect, or contradict each other. A default that another
/// setting overrules is nobody's mistake and passes.
Result<void> check_combinations(const ServeSettings& s) {
  const ServeSettings defaults;
  const auto ineffective = [](bool changed, bool beaten, std::string_view what) {
    return require(!changed || !beaten, what);
  };
  const Result<void> all[] = {
      ineffective(
          s.affinity_headers != defaults.affinity_headers, policy_name(s) != "consistent_hash",
          fmt::format("affinity_headers has no effect with policy \"{}\" (allowed with: consistent_hash)", s.policy)),
      ineffective(s.limits.kept_body != defaults.limits.kept_body, s.limits.kept_body > s.limits.body,
                  "limits.kept_body is over limits.body, so no body of that size arrives"),
      ineffective(s.timeouts.first_byte != defaults.timeouts.first_byte,
                  s.timeouts.total.count() > 0 && s.timeouts.first_byte > s.timeouts.total,
                  "timeouts.first_byte is over timeouts.total, which ends the request before"),
      ineffective(s.timeouts.silence != defaults.timeouts.silence,
                  s.timeouts.total.count() > 0 && s.timeouts.silence > s.timeouts.total,
                  "timeouts.silence is over timeouts.total, which ends the request before"),
      ineffective(s.pool.unroutable_wait != defaults.pool.unroutable_wait, s.pool.unroutable_wait > s.pool.timeout,
                  "pool.unroutable_wait is over pool.timeout, which ends the wait before"),
      ineffective(s.retry.budget != defaults.retry.budget, s.retry.budget > 0 && s.retry.attempts == 1,
                  "retry.budget has no effect with retry.attempts = 1"),
      ineffective(s.sync != defaults.sync, s.ranks == 1, "sync = false has no effect with ranks = 1"),
      require(s.retry.backoff <= s.retry.backoff_cap, "retry.backoff is over retry.backoff_cap"),
      require(s.health.breaker_open <= s.health.breaker_cap, "health.breaker_open is over health.breaker_cap"),
      require(!s.access_log.empty(), "access_log is empty (allowed: a file, \"-\" for standard output, or \"off\")"),
      require(!s.forecast_file.empty() && s.forecast_file != "-",
              fmt::format("forecast_file is \"{}\" (allowed: a file, or \"off\")", s.forecast_file)),
      ineffective(s.forecast_file != defaults.forecast_file, s.forecast_file != "off" && !forecasts(s),
                  fmt::format("forecast_file has no effect with policy \"{}\", which makes no forecasts (allowed with: "
                              "brh, ioh, with a horizon over 0)",
                              s.policy)),
      ineffective(changes_prefix(s), s.prefix.bytes == Bytes(0),
                  "settings of prefix caches have no effect with prefix.bytes = 0"),
      ineffective(changes_prefix(s) || (s.prefix.bytes != defaults.prefix.bytes && s.prefix.bytes != Bytes(0)),
                  !wants_hits(s),
                  fmt::format("settings of prefix caches have no effect with policy \"{}\" (allowed with: auto, "
                              "least_wait, longest_prefix, or workers of role prefill)",
                              s.policy)),
      require(!s.record.empty(), "record is empty (allowed: a file, or \"off\")"),
      require(s.record == "off" || s.record != s.access_log,
              "record and access_log name the same file (allowed: two files, or \"off\")"),
      ineffective(s.kv_event_blocks != defaults.kv_event_blocks,
                  !s.workers.empty() && std::none_of(s.workers.begin(), s.workers.end(),
                                                     [](const auto& worker) { return !worker.kv_events.empty(); }),
                  "kv_event_blocks has no effect: no worker has kv_events"),
      ineffective(s.redline != defaults.redline, s.redline.mode == "off",
                  "settings of the redline have no effect with redline.mode = off (allowed with: on, published)"),
      require(s.redline.mode == "off" || s.redline.lease >= 2 * s.health.interval,
              "redline.lease is under two health intervals: workers would count as cut off between two reports"),
      require(
          s.redline.reserve + s.redline.band < 1,
          fmt::format("redline.reserve {} and redline.band {} make 1 or more: once frozen, the fleet would never be "
                      "released (allowed: a sum under 1)",
                      s.redline.reserve, s.redline.band)),
      require(s.record != "-", "record is \"-\" (allowed: a file, or \"off\")"),
  };
  for (const auto& one : all) {
    if (!one) return one;
  }
  return {};
}

Result<void> check_workers(ServeSettings& s) {
  if (auto done = hand_out_calibrations(s); !done) return done;
  std::set<std::string> names;
  std::set<std::string> urls;
  for (WorkerSetting& worker : s.workers) {
    auto good = check(std::move(worker));
    if (!good) return tl::unexpected(good.error());
    worker = std::move(*good);
    const auto url = http::parse_url(worker.url);
    if (!urls.insert(url->authority() + url->base_path).second) {
      return failure(fmt::format("two workers have the url \"{}\"", worker.url));
    }
    if (!names.insert(worker.name).second) {
      return failure(fmt::format("two workers have the name \"{}\"; give one of them another name", worker.name));
    }
  }
  return {};
}

Result<void> check_models(const ServeSettings& s) {
  std::set<std::string> served;  // what clients may call by its own name, as far as it is known yet
  bool all_known = !s.workers.empty();
  for (const WorkerSetting& worker : s.workers) {
    if (worker.models.empty()) all_known = false;
    served.insert(worker.models.begin(), worker.models.end());
  }
  std::set<std::string> named;
  for (const ModelSetting& model : s.models) {
    if (!named.insert(model.name).second) return failure(fmt::format("two models have the name \"{}\"", model.name));
    if (all_known && s.peers.empty() && !served.contains(model.name)) {
      return failure(fmt::format("model \"{}\" is served by no worker; every worker names its models", model.name));
    }
  }
  served.insert(named.begin(), named.end());
  std::set<std::string> aliases;
  for (const ModelSetting& model : s.models) {
    for (const std::string& alias : model.aliases) {
      if (alias.empty()) return failure(fmt::format("model \"{}\" has an empty alias", model.name));
      if (served.contains(alias)) {
        return failure(
            fmt::format("alias \"{}\" of model \"{}\" is the name of a model that is served", alias, model.name));
      }
      if (!aliases.insert(alias).second) return failure(fmt::format("alias \"{}\" is given twice", alias));
    }
  }
  return {};
}

Result<void> check_ranks(const WorkerSetting& worker) {
  if (!worker.group.empty() && !is_token(worker.group, name_signs)) {
    return failure(
        fmt::format("group \"{}\" is no name (allowed: up to 128 letters, digits and ._:-[])", worker.group));
  }
  if (!worker.group.empty() && !worker.sync) {
    return failure("group has no effect with sync = false (allowed: one of them)");
  }
  if (!worker.sync && worker.ranks == 1) return failure("sync = false has no effect with ranks = 1");
  const auto kind = engines::kind_named(worker.engine);
  if (worker.ranks > 1 && kind && engines::adapter(*kind).rank_field().empty()) {
    return failure(
        fmt::format("ranks cannot be {}: engine {} has no ranks that requests can be sent to (allowed: 0 or 1)",
                    worker.ranks, worker.engine));
  }
  return {};
}

Result<void> check_role(const WorkerSetting& worker) {
  if (worker.bootstrap_port > 0 && (worker.role != "prefill" || worker.engine == "vllm")) {
    return failure(
        fmt::format("bootstrap_port has no effect with role = {} and engine = {} (allowed with: role = prefill "
                    "and engine = sglang or auto)",
                    worker.role, worker.engine));
  }
  if (worker.role == "both") return {};
  if (worker.engine != "auto" && worker.engine != "vllm" && worker.engine != "sglang") {
    return failure(fmt::format(
        "role = {} is possible with vLLM's NIXL connector and with SGLang only (allowed: engine = vllm, sglang "
        "or auto), and this is {}; of other engines, let their own router do it",
        worker.role, worker.engine));
  }
  if (worker.role == "prefill" && !worker.group.empty()) {
    return failure("group has no effect with role = prefill, whose requests run for one step");
  }
  return {};
}

/// tcp://HOST:PORT, or ipc://PATH. `listens`: the host may be *, for engines that connect instead of binding.
Result<void> check_endpoint(std::string_view key, const std::string& endpoint, bool listens) {
  constexpr std::size_t longest = 1024;
  const std::string wanted =
      fmt::format("allowed: tcp://host:port{}, or ipc://path", listens ? " with * for a host that connects" : "");
  const auto wrong = [&] { return failure(fmt::format("{} is \"{}\" ({})", key, endpoint, wanted)); };
  if (endpoint.size() > longest || endpoint.find_first_of(" \t\r\n") != std::string::npos) return wrong();
  if (endpoint.starts_with("ipc://")) return endpoint.size() > 6 ? Result<void>() : wrong();
  if (!endpoint.starts_with("tcp://")) return wrong();
  const auto colon = endpoint.rfind(':');
  const std::string host = colon > 6 ? endpoint.substr(6, colon - 6) : "";
  const auto port = parse_unsigned(std::string_view(endpoint).substr(colon + 1));
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (host.empty() || host.find_first_of("/;") != std::string::npos ||
      (host.find(':') != std::string::npos && !bracketed) || !port || *port < 1 || *port > 65535)
    return wrong();
  if (host.find('*') != std::string::npos && (host != "*" || !listens)) return wrong();
  return {};
}

Result<void> check_kv_events(const WorkerSetting& worker) {
  if (worker.kv_events.empty()) {
    if (worker.kv_events_replay.empty()) return {};
    return failure("kv_events_replay has no effect without kv_events");
  }
  const auto kind = engines::kind_named(worker.engine);
  if (kind && *kind != engines::Kind::vllm && *kind != engines::Kind::sglang) {
    return failure(fmt::format("kv_events is possible with vLLM and SGLang only, and this is {}", worker.engine));
  }
  if (worker.prefix_cache_tokens == 0)
    return failure(
        "kv_events with prefix_cache_tokens = 0: one says there is a prefix cache, the other that there is none");
  if (auto done = check_endpoint("kv_events", worker.kv_events, true); !done) return done;
  if (worker.kv_events_replay.empty()) return {};
  if (worker.kv_events_replay == worker.kv_events)
    return failure("kv_events and kv_events_replay are the same endpoint");
  return check_endpoint("kv_events_replay", worker.kv_events_replay, false);
}

}  // namespace

bool is_token(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           more.find(c) != std::string_view::npos;
  });
}

Result<WorkerSetting> check(WorkerSetting worker) {
  if (const auto at = worker.url.rfind('@'); at != std::string::npos && parse_unsigned(worker.url.substr(at + 1))) {
    return failure(
        fmt::format("the url \"{}\" ends in @{}; ranks are not told there (allowed: ranks = N of the worker, or "
                    "--ranks N)",
                    worker.url, worker.url.substr(at + 1)));
  }
  const auto url = http::parse_url(worker.url);
  if (!url) return tl::unexpected(url.error());
  if (worker.name.empty()) worker.name = url->authority();
  const auto fail = [&](std::string_view what) { return failure(fmt::format("worker \"{}\": {}", worker.name, what)); };
  if (!is_token(worker.name, name_signs)) {
    return fail("this is no name (allowed: up to 128 letters, digits and ._:-[])");
  }
  for (const auto& setting : worker_table()) {  // ranges of workers that did not come from a file
    Result<void> done;
    if (setting.key == "engine") done = store(setting, worker, worker.engine);
    if (setting.key == "max_in_flight") done = store(setting, worker, worker.max_in_flight);
    if (setting.key == "role") done = store(setting, worker, worker.role);
    if (setting.key == "bootstrap_port") done = store(setting, worker, worker.bootstrap_port);
    if (setting.key == "ranks") done = store(setting, worker, worker.ranks);
    if (!done) return fail(done.error().message);
  }
  if (auto done = check_ranks(worker); !done) return fail(done.error().message);
  if (auto done = check_role(worker); !done) return fail(done.error().message);
  if (auto done = check_kv_events(worker); !done) return fail(done.error().message);
  if (auto done = check_calibration(worker); !done) return fail(done.error().message);
  if (std::find(worker.models.begin(), worker.models.end(), "") != worker.models.end())
    return fail("a model name is empty");
  if (const auto key = api_key(worker); !key) return fail(key.error().message);
  return worker;
}

Result<ServeSettings> check(ServeSettings settings) {
  for (const Result<void>& one :
       {check_listeners(settings), check_header_names("client_key_headers", settings.client_key_headers),
        check_header_names("affinity_headers", settings.affinity_headers), check_origins(settings),
        check_combinations(settings), check_workers(settings), check_models(settings), check_peers(settings),
        check_pressure(settings)}) {
    if (!one) return tl::unexpected(one.error());
  }
  return settings;
}

}  // namespace evenkeel::config
