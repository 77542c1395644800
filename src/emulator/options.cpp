#include "emulator/options.hpp"

#include <variant>

#include <fmt/format.h>

#include "emulator/dense_ranks.hpp"

namespace evenkeel::emulator {
namespace {

Result<void> validate_engine(const EmulatorOptions& options) {
  const bool table = std::holds_alternative<engine::RateLaw>(options.engine.law);
  if (options.sync && table && options.engine.ranks > 1) {
    return failure(
        fmt::format("ranks is {}: a rate table has no steps to share; allowed: 1, or ranks that step by themselves",
                    options.engine.ranks));
  }
  // Everything but the law's refusal to be shared holds for ranks that step by themselves, too.
  if (options.sync || !table) return engine::validate(options.engine);
  return engine::validate(DenseRanks::config_of_rank(options.engine, 0));
}

Result<void> validate_kv(const EmulatorOptions& options) {
  if (!options.kv) return {};
  const KvOptions& kv = *options.kv;
  constexpr std::size_t longest_host = 255;
  const auto within = [](const char* what, Duration value, Duration least, Duration most) -> Result<void> {
    if (value >= least && value <= most) return {};
    return failure(
        fmt::format("{} is {} s; allowed: {} to {}", what, to_seconds(value), to_seconds(least), to_seconds(most)));
  };
  if (!std::holds_alternative<engine::StepLaw>(options.engine.law)) {
    return failure("a role is for engines that prefill in steps; with a rate table prompts cost nothing");
  }
  if (kv.host.size() > longest_host) {
    return failure(fmt::format("the KV host has {} bytes; allowed: at most {}", kv.host.size(), longest_host));
  }
  return within("the KV lease", kv.lease, std::chrono::milliseconds(1), std::chrono::hours(24))
      .and_then([&] {
        return within("the bootstrap timeout", kv.bootstrap_timeout, std::chrono::milliseconds(1),
                      std::chrono::hours(24));
      })
      .and_then([&] { return within("the setup of a KV transfer", kv.setup, Duration(0), std::chrono::seconds(60)); })
      .and_then([&] { return within("a KV token's transfer", kv.per_token, Duration(0), std::chrono::seconds(1)); });
}

Result<void> validate_kv_events(const EmulatorOptions& options) {
  if (!options.kv_events) return {};
  if (!options.engine.prefix_cache) return failure("KV events are of a prefix cache, and there is none");
  const KvEventOptions& kv = *options.kv_events;
  const std::size_t ports = options.replicas * options.engine.ranks;
  for (const std::uint16_t port : {kv.port, kv.replay_port}) {
    if (port == 0 && port == kv.replay_port && kv.port != 0) continue;
    if (port == 0) return failure("the port of KV events is 0; allowed: 1 to 65535");
    if (port + ports - 1 > 65535) {
      return failure(
          fmt::format("port {} of KV events leaves no room for {} consecutive ports up to 65535", port, ports));
    }
  }
  const std::size_t apart = kv.port > kv.replay_port ? kv.port - kv.replay_port : kv.replay_port - kv.port;
  if (kv.replay_port != 0 && apart < ports) {
    return failure(fmt::format("ports {} and {} of KV events and their replay overlap: {} ports each", kv.port,
                               kv.replay_port, ports));
  }
  return {};
}

}  // namespace

Result<void> validate(const EmulatorOptions& options) {
  constexpr std::size_t most_replicas = 64;
  constexpr std::size_t longest_name = 256;
  constexpr std::size_t most_ports = 1024;
  if (options.replicas < 1 || options.replicas > most_replicas) {
    return failure(fmt::format("replicas is {}; allowed: 1 to {}", options.replicas, most_replicas));
  }
  const std::size_t ports = options.replicas * ports_each(options);
  if (ports > most_ports) {
    return failure(fmt::format("{} replicas of {} ranks are {} ports; allowed: at most {}", options.replicas,
                               options.engine.ranks, ports, most_ports));
  }
  if (options.port != 0 && options.port + ports - 1 > 65535) {
    return failure(fmt::format("port {} leaves no room for {} consecutive ports up to 65535", options.port, ports));
  }
  if (options.model.empty() || options.model.size() > longest_name) {
    return failure(fmt::format("the model name has {} bytes; allowed: 1 to {}", options.model.size(), longest_name));
  }
  if (!(options.time_scale >= 0.001 && options.time_scale <= 1000)) {
    return failure(fmt::format("time scale is {}; allowed: 0.001 to 1000", options.time_scale));
  }
  if (!options.draw_output) return failure("a law of output lengths is wanted");
  if (options.engine.ranks == 1 && (options.rank_ports || !options.sync)) {
    return failure(fmt::format("{} is for several ranks, and ranks is 1", options.sync ? "rank_ports" : "sync off"));
  }
  return validate_engine(options).and_then([&] { return validate_kv(options); }).and_then([&] {
    return validate_kv_events(options);
  });
}

}  // namespace evenkeel::emulator
