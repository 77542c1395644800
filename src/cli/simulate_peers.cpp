#include "cli/simulate_peers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/flag_values.hpp"
#include "report/progress.hpp"
#include "routing/spec.hpp"
#include "simulation/peer_results.hpp"
#include "simulation/peer_run.hpp"

namespace evenkeel::cli {

namespace {

namespace bounds = simulation::bounds;

Result<simulation::PeersSetting> setting_of(const PeersFlags& flags, std::int64_t seed) {
  simulation::PeersSetting setting;
  auto boxes = simulation::parse_boxes(flags.boxes);
  if (!boxes) return tl::unexpected(boxes.error());
  setting.boxes = std::move(*boxes);
  if (flags.entry != "all") {
    const auto box = parse_unsigned(flags.entry);
    if (!box || *box < 1 || *box > setting.boxes.size()) {
      return failure(
          fmt::format("--entry \"{}\": allowed are all and the boxes 1 to {}", flags.entry, setting.boxes.size()));
    }
    setting.entry = static_cast<std::size_t>(*box - 1);
  }
  setting.burst = flags.burst;
  setting.tokens = flags.tokens;
  setting.rounds = flags.rounds;
  setting.gap = from_millis(flags.gap_ms);
  setting.spacing = from_millis(flags.spacing_ms);
  setting.first_at = from_millis(flags.start_ms);
  setting.known_rates = flags.rates == "known";
  setting.warm_up = flags.warm_up;
  setting.exchange = flags.exchange == "books" ? simulation::Exchange::books : simulation::Exchange::gauges;
  setting.network.probe_round_trip = from_millis(flags.probe_round_trip_ms);
  setting.network.forward_delay = from_millis(flags.forward_delay_ms);
  setting.network.gauge_lag = from_millis(flags.gauge_lag_ms);
  setting.seed = static_cast<std::uint64_t>(seed);
  return setting;
}

Result<std::vector<std::string>> policies_of(const std::string& text) {
  auto specs = routing::PolicySpec::parse_list(text);
  if (!specs) return tl::unexpected(specs.error());
  std::vector<std::string> policies;
  for (const auto& spec : *specs) {
    policies.push_back(spec.text());
    if (auto ok = simulation::check_peer_policy(policies.back()); !ok) return tl::unexpected(ok.error());
  }
  return policies;
}

/// Flags that would be passed over.
Result<void> check_effect(const PeersFlags& flags, const std::vector<std::string>& policies) {
  const bool legacy =
      std::ranges::any_of(policies, [](const std::string& name) { return name.starts_with("legacy_"); });
  if (flags.gauge_lag_ms > 0 && flags.exchange == "books" && !legacy) {
    return failure(
        "--gauge-lag-ms has no effect with --exchange books (allowed: --exchange gauges, or a legacy policy)");
  }
  if (flags.gap_ms > 0 && flags.rounds == 1) {
    return failure("--gap-ms has no effect with one burst (allowed: --rounds of 2 or more)");
  }
  if (flags.spacing_ms > 0 && flags.burst == 1) {
    return failure("--spacing-ms has no effect with one request a burst (allowed: --burst of 2 or more)");
  }
  return {};
}

}  // namespace

void add_peers_flags(CLI::App& command, PeersFlags& flags) {
  auto* const experiment = command.get_option("--experiment");
  const auto grouped = [&](CLI::Option* option) {
    option->group("Peers (--experiment peers)")->needs(experiment)->capture_default_str();
  };
  grouped(command
              .add_option("--boxes", flags.boxes,
                          "routers with an engine each: RATE,RATE,...;RATE,...: tokens a second with one, two, ... "
                          "requests running, as many as it has slots; - for a router alone")
              ->check(text()));
  grouped(command.add_option("--burst", flags.burst, "requests that come at once")->check(whole(bounds::burst)));
  grouped(command.add_option("--tokens", flags.tokens, "output of each")->check(whole(bounds::burst_tokens)));
  grouped(command.add_option("--rounds", flags.rounds, "bursts, one after the other")->check(whole(bounds::rounds)));
  grouped(command.add_option("--rates", flags.rates, "known, or learned: from nothing")
              ->check(one_of({"known", "learned"})));
  grouped(command.add_flag("--warm-up", flags.warm_up,
                           "before the bursts each box serves one request alone, then as many as it has slots"));
  grouped(command
              .add_option("--exchange", flags.exchange,
                          "books: routers tell each other their counts; gauges: they read each other's engines")
              ->check(one_of({"books", "gauges"})));
  grouped(command.add_option("--entry", flags.entry, "box that the bursts come to, or all")->check(text()));
  for (const auto& [name, into, help] :
       {std::tuple{"--gap-ms", &flags.gap_ms, "from the end of a burst to the next"},
        std::tuple{"--spacing-ms", &flags.spacing_ms, "between two requests of a burst"},
        std::tuple{"--start-ms", &flags.start_ms, "when the first burst comes; probes go every five seconds"},
        std::tuple{"--probe-round-trip-ms", &flags.probe_round_trip_ms, "of a probe, which is answered half-way"},
        std::tuple{"--forward-delay-ms", &flags.forward_delay_ms, "one way between two routers"},
        std::tuple{"--gauge-lag-ms", &flags.gauge_lag_ms, "so old is what an engine's gauges show"}}) {
    grouped(command.add_option(name, *into, help)->check(real(bounds::peers_ms)));
  }
}

Result<int> run_peers_experiment(const PeersFlags& flags, const std::string& policies, std::int64_t seed, bool json) {
  const auto setting = setting_of(flags, seed);
  if (!setting) return tl::unexpected(setting.error());
  const auto names = policies_of(policies.empty() ? "late_tail" : policies);
  if (!names) return tl::unexpected(names.error());
  if (auto ok = check_effect(flags, *names); !ok) return tl::unexpected(ok.error());
  const SteadyClock clock;
  const auto to_stderr = [](std::string_view bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    std::fflush(stderr);
  };
  const std::uint64_t total = static_cast<std::uint64_t>(setting->rounds) * names->size();
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, std::string(peers_experiment), total);
  std::vector<simulation::PeersResult> results;
  for (const std::string& name : *names) {
    const std::uint64_t before = results.size() * static_cast<std::uint64_t>(setting->rounds);
    auto result = simulation::run_peers(*setting, name, [&](std::uint64_t rounds) { bar.update(before + rounds); });
    if (!result) return tl::unexpected(result.error());
    results.push_back(std::move(*result));
  }
  bar.finish(total);
  const std::string text =
      json ? simulation::peers_json(*setting, results) : simulation::peers_table(*setting, results);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace evenkeel::cli
