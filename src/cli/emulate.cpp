#include "cli/emulate.hpp"

#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "emulator/emulator.hpp"
#include "engine/presets.hpp"
#include "workload/laws.hpp"

namespace evenkeel::cli {
namespace {

struct EmulateFlags {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;
  std::string model;
  std::size_t replicas = 1;
  std::size_t ranks = 1;
  bool no_sync = false;
  bool rank_ports = false;
  std::string rank_balancing = "current";
  bool ignore_rank_header = false;
  std::string role;
  double kv_lease_s = 30;
  double bootstrap_timeout_s = 300;
  std::string kv_transfer = "2:3";
  std::string kv_load_failure = "fail";
  std::string kv_reused = "garbled";
  std::string kv_host;
  std::optional<std::int64_t> slots;
  std::optional<std::int64_t> kv_tokens;
  std::optional<std::int64_t> max_model_len;
  bool prefix_cache = false;
  std::uint16_t kv_events = 0;
  std::uint16_t kv_events_replay = 0;
  std::string kv_event_format = "maps";
  std::string kv_event_hashes = "integers";
  std::string step_preset;
  std::string rate_table;
  double time_scale = 1;
  std::uint64_t seed = 1;
  std::string output_tokens = "lognormal:200:0.8:4096";
  std::string metrics_names = "new";
  bool json = false;
};

Result<engine::RateLaw> parse_rate_table(std::string_view text) {
  engine::RateLaw law;
  for (const auto part : split(text, ',')) {
    const auto rate = parse_double(trim(part));
    if (!rate) return failure(fmt::format("--rate-table: \"{}\" is no number", part));
    law.tokens_per_s.push_back(*rate);
  }
  return law;
}

Result<engine::EngineConfig> engine_config(const EmulateFlags& flags) {
  engine::EngineConfig config;
  if (!flags.step_preset.empty()) {
    auto named = engine::preset(flags.step_preset);
    if (!named) return failure("--step-preset: " + named.error().message);
    config = *named;
  }
  if (!flags.rate_table.empty()) {
    auto law = parse_rate_table(flags.rate_table);
    if (!law) return tl::unexpected<Error>(law.error());
    config.slots = static_cast<std::int64_t>(law->tokens_per_s.size());  // the table says what was measured
    config.law = *std::move(law);
  }
  config.ranks = flags.ranks;
  config.prefix_cache = flags.prefix_cache;
  if (flags.slots) config.slots = *flags.slots;
  if (flags.kv_tokens) config.kv_capacity = Tokens(*flags.kv_tokens);
  if (flags.max_model_len) config.max_model_length = Tokens(*flags.max_model_len);
  return config;
}

Result<emulator::KvOptions> kv_options(const EmulateFlags& flags) {
  emulator::KvOptions kv;
  kv.role = flags.role == "prefill"  ? emulator::Role::prefill
            : flags.role == "decode" ? emulator::Role::decode
                                     : emulator::Role::both;
  constexpr double most = 1e6;  // beyond it no duration is allowed, and here none overflows
  const auto parts = split(flags.kv_transfer, ':');
  const auto setup_ms = parse_double(parts.front());
  const auto per_token_us = parse_double(parts.back());
  if (parts.size() != 2 || !setup_ms || !per_token_us || std::abs(*setup_ms) > most || std::abs(*per_token_us) > most) {
    return failure(
        fmt::format("--kv-transfer is \"{}\"; wanted: SETUP_MS:US_PER_TOKEN, such as 2:3", flags.kv_transfer));
  }
  if (!(std::abs(flags.kv_lease_s) < most)) return failure("--kv-lease-s: allowed: 0.001 to 86400");
  kv.setup = from_millis(*setup_ms);
  kv.per_token = from_seconds(*per_token_us * 1e-6);
  kv.lease = from_seconds(flags.kv_lease_s);
  if (!(std::abs(flags.bootstrap_timeout_s) < most)) {
    return failure("--bootstrap-timeout-s: allowed: 0.001 to 86400");
  }
  kv.bootstrap_timeout = from_seconds(flags.bootstrap_timeout_s);
  kv.recompute_on_failure = flags.kv_load_failure == "recompute";
  kv.error_on_reuse = flags.kv_reused == "error";
  kv.host = flags.kv_host;
  return kv;
}

Result<emulator::EmulatorOptions> emulator_options(const EmulateFlags& flags) {
  const auto config = engine_config(flags);
  if (!config) return tl::unexpected<Error>(config.error());
  const auto law = workload::LengthLaw::parse(flags.output_tokens);
  if (!law) return failure("--output-tokens: " + law.error().message);
  if (flags.ranks == 1 && flags.rank_balancing != "current") {
    return failure("--rank-balancing is for several ranks, and --ranks is 1");
  }
  emulator::EmulatorOptions options;
  if (!flags.role.empty()) {
    auto kv = kv_options(flags);
    if (!kv) return tl::unexpected<Error>(kv.error());
    options.kv = *std::move(kv);
  }
  if (flags.kv_events != 0) {
    using Hashes = emulator::KvEventOptions::Hashes;
    options.kv_events =
        emulator::KvEventOptions{flags.kv_events, flags.kv_events_replay, flags.kv_event_format == "lists",
                                 flags.kv_event_hashes == "bytes"    ? Hashes::bytes
                                 : flags.kv_event_hashes == "signed" ? Hashes::signed_integers
                                                                     : Hashes::integers};
  }
  options.host = flags.host;
  options.port = flags.port;
  options.replicas = flags.replicas;
  options.model = flags.model;
  options.engine = *config;
  options.sync = !flags.no_sync;
  options.rank_ports = flags.rank_ports;
  options.balancing = flags.rank_balancing == "old"           ? emulator::RankBalancing::old
                      : flags.rank_balancing == "round-robin" ? emulator::RankBalancing::round_robin
                                                              : emulator::RankBalancing::current;
  options.faults.ignore_rank_header = flags.ignore_rank_header;
  options.time_scale = flags.time_scale;
  options.seed = flags.seed;
  options.metric_names = flags.metrics_names == "old"    ? emulator::MetricNames::old
                         : flags.metrics_names == "both" ? emulator::MetricNames::both
                                                         : emulator::MetricNames::current;
  options.draw_output = [law = *law](Random& random) { return law.draw(random); };
  return options;
}

void print_addresses(const EmulateFlags& flags, const std::vector<emulator::ServedPort>& served) {
  const bool v6 = flags.host.find(':') != std::string::npos;
  for (const emulator::ServedPort& each : served) {
    const std::string url = fmt::format("http://{}:{}", v6 ? "[" + flags.host + "]" : flags.host, each.port);
    if (flags.json) {
      boost::json::object line{
          {"url", url}, {"port", each.port}, {"model", flags.model}, {"replica", each.replica}, {"ranks", flags.ranks}};
      if (each.rank) line["rank"] = *each.rank;
      fmt::print("{}\n", boost::json::serialize(line));
    } else {
      std::string what;
      if (flags.ranks > 1)
        what = each.rank ? fmt::format(", rank {}", *each.rank) : fmt::format(", {} ranks", flags.ranks);
      fmt::print("{} serves {}{}\n", url, flags.model, what);
    }
  }
  std::fflush(stdout);
}

/// Runs the loop until SIGINT or SIGTERM.
void run_until_signal(http::EventLoop& loop) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread waiter([&] {
    int got = 0;
    (void)sigwait(&signals, &got);
    loop.stop();
  });
  loop.run();
  waiter.join();
}

/// What fits together only as a whole is checked by fields; here they are flags.
Error named_by_flags(Error error) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 18> flags = {
      {{"slots", "--slots"},
       {"kv_capacity", "--kv-tokens"},
       {"max_model_length", "--max-model-len"},
       {"step_token_budget", "--slots: the tokens of a step"},
       {"rate table", "--rate-table:"},
       {"ranks", "--ranks"},
       {"rank_ports", "--rank-ports"},
       {"sync off", "--no-sync"},
       {"replicas", "--replicas"},
       {"port", "--port"},
       {"time scale", "--time-scale"},
       {"the model name", "--model"},
       {"a role", "--role"},
       {"the KV host", "--kv-host"},
       {"the KV lease", "--kv-lease-s"},
       {"the bootstrap timeout", "--bootstrap-timeout-s"},
       {"the setup of a KV transfer", "--kv-transfer: SETUP_MS"},
       {"a KV token's transfer", "--kv-transfer: US_PER_TOKEN"}}};
  return {in_flags(std::move(error.message), flags)};
}

int emulate(const EmulateFlags& flags) {
  const auto options = emulator_options(flags);
  if (!options) {
    fmt::print(stderr, "evenkeel emulate: {}\n", options.error().message);
    return 2;
  }
  http::EventLoop loop;
  const auto fleet = emulator::Emulator::open(loop, *options);
  if (!fleet) {
    fmt::print(stderr, "evenkeel emulate: {}\n", named_by_flags(fleet.error()).message);
    return 2;
  }
  print_addresses(flags, fleet->served());
  run_until_signal(loop);
  return 0;
}

}  // namespace

void add_emulate(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<EmulateFlags>();
  CLI::App* command =
      app.add_subcommand("emulate", "Serve an emulated LLM engine over HTTP, in the manner of vLLM; no GPU is needed");
  command->add_option("--host", flags->host, "Address to listen on")->capture_default_str();
  command->add_option("--port", flags->port, "Port of the first engine; 0 takes free ones")->capture_default_str();
  command->add_option("--model", flags->model, "Name of the model served")->required();
  command->add_option("--replicas", flags->replicas, "Engines, on consecutive ports (1 to 64)")->capture_default_str();
  auto* ranks = command->add_option("--ranks", flags->ranks, "Data-parallel ranks of each engine (1 to 1024)")
                    ->capture_default_str();
  command->add_flag("--no-sync", flags->no_sync, "Ranks step independently, as those of a dense model")->needs(ranks);
  auto* rank_ports =
      command->add_flag("--rank-ports", flags->rank_ports, "A port for each rank, consecutive")->needs(ranks);
  command
      ->add_option("--rank-balancing", flags->rank_balancing,
                   "How the engine spreads requests that name no rank: current, old or round-robin")
      ->check(CLI::IsMember({"current", "old", "round-robin"}))
      ->needs(ranks)
      ->excludes(rank_ports)
      ->capture_default_str();
  command->add_flag("--ignore-rank-header", flags->ignore_rank_header, "A fault: X-data-parallel-rank has no effect")
      ->needs(ranks);
  auto* role = command->add_option("--role", flags->role, "In prefill/decode disaggregation: prefill, decode or both")
                   ->check(CLI::IsMember({"prefill", "decode", "both"}));
  command->add_option("--kv-lease-s", flags->kv_lease_s, "Engine seconds that KV is kept to be pulled")
      ->needs(role)
      ->capture_default_str();
  command
      ->add_option("--bootstrap-timeout-s", flags->bootstrap_timeout_s,
                   "Engine seconds that one leg waits for the other in a bootstrap room")
      ->needs(role)
      ->capture_default_str();
  command->add_option("--kv-transfer", flags->kv_transfer, "Engine time of a pull, SETUP_MS:US_PER_TOKEN")
      ->needs(role)
      ->capture_default_str();
  command->add_option("--kv-load-failure", flags->kv_load_failure, "When a pull fails: fail the request, or recompute")
      ->check(CLI::IsMember({"fail", "recompute"}))
      ->needs(role)
      ->capture_default_str();
  command
      ->add_option("--kv-reused", flags->kv_reused, "When parameters come a second time: a garbled text, or an error")
      ->check(CLI::IsMember({"garbled", "error"}))
      ->needs(role)
      ->capture_default_str();
  command->add_option("--kv-host", flags->kv_host, "Where decode engines find this one (the address it listens on)")
      ->needs(role);
  command->add_option("--slots", flags->slots, "Most requests running at once, in each rank");
  command->add_option("--kv-tokens", flags->kv_tokens, "Tokens the KV cache of each rank holds");
  command->add_option("--max-model-len", flags->max_model_len, "Tokens of prompt and output together");
  auto* prefix_cache =
      command->add_flag("--prefix-cache", flags->prefix_cache, "Keep what was computed: a prompt's beginning is found");
  auto* preset = command->add_option("--step-preset", flags->step_preset, "A known engine, such as 8b-h100");
  command->add_option("--rate-table", flags->rate_table, "Total tokens/s at 1, 2, ... running, such as 18.18,50.71")
      ->excludes(preset)
      ->excludes(prefix_cache);
  command->add_option("--time-scale", flags->time_scale, "Engine seconds a real second")->capture_default_str();
  command->add_option("--seed", flags->seed, "Of texts and lengths")->capture_default_str();
  command
      ->add_option("--output-tokens", flags->output_tokens,
                   "Lengths of answers: fixed:N, uniform:A:B or lognormal:MEAN:CV[:CAP]")
      ->capture_default_str();
  auto* kv_events =
      command
          ->add_option("--kv-events", flags->kv_events,
                       "Publish KV-cache events (ZeroMQ) at this port; further ranks and engines at those behind")
          ->check(CLI::Range(1, 65535))
          ->needs(prefix_cache);
  command->add_option("--kv-events-replay", flags->kv_events_replay, "Port that plays them again, likewise")
      ->check(CLI::Range(1, 65535))
      ->needs(kv_events);
  command->add_option("--kv-event-format", flags->kv_event_format, "maps, or lists as vLLM before June 2026 and SGLang")
      ->check(CLI::IsMember({"maps", "lists"}))
      ->needs(kv_events)
      ->capture_default_str();
  command->add_option("--kv-event-hashes", flags->kv_event_hashes, "How blocks are named: integers, signed or bytes")
      ->check(CLI::IsMember({"integers", "signed", "bytes"}))
      ->needs(kv_events)
      ->capture_default_str();
  command->add_option("--metrics-names", flags->metrics_names, "vLLM's metric names: new, old or both")
      ->check(CLI::IsMember({"new", "old", "both"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "Print one JSON line for each address");
  command->callback([flags, &exit_code] { exit_code = emulate(*flags); });
}

}  // namespace evenkeel::cli
